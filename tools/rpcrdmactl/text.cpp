// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include "text.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <sstream>
#include <utility>

#include "json_text.h"

namespace rpcrdmactl
{

namespace
{

using Row = std::vector<std::string>;

/* What is not there is "-". */
std::string field(const Json &object, const char *name)
{
	if (!object.is_object() || !object.contains(name))
		return "-";
	const Json &value = object.at(name);
	if (value.is_string())
		return value.get<std::string>();
	if (value.is_boolean())
		return value.get<bool>() ? "yes" : "no";
	return json_text(value);
}

std::uint64_t number(const Json &object, const char *name)
{
	if (!object.is_object() || !object.contains(name))
		return 0;
	return object.at(name).get<std::uint64_t>();
}

const Json &nest(const Json &object, const char *name)
{
	static const Json kNothing = Json::object();

	return object.contains(name) ? object.at(name) : kNothing;
}

const Json &list(const Json &object, const char *name)
{
	static const Json kNone = Json::array();

	return object.contains(name) ? object.at(name) : kNone;
}

/* Columns as wide as what is in them. */
std::string aligned(const std::vector<Row> &rows)
{
	std::vector<std::size_t> width;
	std::string text;

	for (const Row &row : rows) {
		width.resize(std::max(width.size(), row.size()));
		for (std::size_t i = 0; i < row.size(); i++)
			width[i] = std::max(width[i], row[i].size());
	}
	for (const Row &row : rows) {
		std::string line;
		for (std::size_t i = 0; i < row.size(); i++) {
			line += row[i];
			if (i + 1 < row.size())
				line.append(width[i] - row[i].size() + 2, ' ');
		}
		text += line + "\n";
	}
	return text;
}

std::string duration(std::uint64_t milliseconds)
{
	const std::uint64_t seconds = milliseconds / 1000;
	char text[32];

	if (seconds < 60)
		std::snprintf(text, sizeof(text), "%llu.%llus",
			      static_cast<unsigned long long>(seconds),
			      static_cast<unsigned long long>(milliseconds %
							      1000 / 100));
	else if (seconds < 24 * 60 * 60)
		std::snprintf(
			text, sizeof(text), "%llu:%02llu:%02llu",
			static_cast<unsigned long long>(seconds / 3600),
			static_cast<unsigned long long>(seconds / 60 % 60),
			static_cast<unsigned long long>(seconds % 60));
	else
		std::snprintf(
			text, sizeof(text), "%llud%lluh",
			static_cast<unsigned long long>(seconds / 86400),
			static_cast<unsigned long long>(seconds / 3600 % 24));
	return text;
}

/* "12", "3.4k", "5.6M": three digits at least are right. */
std::string scaled(double value)
{
	static constexpr const char *kUnits[] = { "", "k", "M", "G", "T", "P" };
	std::size_t unit = 0;
	char text[32];

	while (value >= 9999.5 && unit + 1 < std::size(kUnits)) {
		value /= 1000;
		unit++;
	}
	std::snprintf(text, sizeof(text),
		      unit || value < 9.95 ? "%.1f%s" : "%.0f%s", value,
		      kUnits[unit]);
	return text;
}

std::string of_two(const Json &object, const char *first, const char *second)
{
	return field(object, first) + "/" + field(object, second);
}

std::string version(const Json &conn)
{
	return number(conn, "version") ? field(conn, "version") : "-";
}

void properties(std::ostringstream &out, const char *whose, const Json &p)
{
	out << "  " << whose << " properties: send-size "
	    << field(p, "send-size") << " receive-size "
	    << field(p, "receive-size") << " segment-size "
	    << field(p, "segment-size") << " segment-count "
	    << field(p, "segment-count") << " reverse " << field(p, "reverse")
	    << "\n";
}

/* "  extensions: a b"; nothing if there are none. */
void words(std::ostringstream &out, const char *what, const Json &names)
{
	if (names.empty())
		return;
	out << "  " << what << ":";
	for (const Json &name : names)
		out << " " << name.get<std::string>();
	out << "\n";
}

/* "/mnt,/home": the mounts of a client's connection, or what a server exports by it. */
std::string uses_of(const Json &conn)
{
	std::string text;

	for (const char *kind : { "mounts", "exports" })
		for (const Json &path : list(conn, kind))
			text += (text.empty() ? "" : ",") +
				path.get<std::string>();
	return text.empty() ? "-" : text;
}

/* "  name: a 1 b 2" of what is not zero; nothing if all is. */
void counters(std::ostringstream &out, const char *name, const Json &object)
{
	std::string line;

	for (const auto &[key, value] : object.items())
		if (value != 0)
			line += " " + key + " " + json_text(value);
	if (!line.empty())
		out << "  " << name << ":" << line << "\n";
}

/* "  name: a 1 of 2" for each a that has an a-limit; of others what is not zero. */
void limits(std::ostringstream &out, const char *name, const Json &object)
{
	std::string line;

	for (const auto &[key, value] : object.items()) {
		const std::string limit = key + "-limit";
		if (object.contains(limit))
			line += " " + key + " " + json_text(value) + " of " +
				json_text(object.at(limit));
		else if (!key.ends_with("-limit") && value != 0)
			line += " " + key + " " + json_text(value);
	}
	if (!line.empty())
		out << "  " << name << ":" << line << "\n";
}

/* "authenticated (required) key one", "failed (required) key one: proof" */
std::string authentication(const Json &auth)
{
	std::string text =
		field(auth, "outcome") + " (" + field(auth, "policy") + ")";

	if (auth.contains("key"))
		text += " key " + field(auth, "key");
	if (auth.contains("reason"))
		text += ": " + field(auth, "reason");
	return text;
}

/* Policies and counts of a network namespace: "  authentication: server off ..." */
void authentications(std::ostringstream &out, const Json &auth)
{
	if (auth.empty())
		return;
	out << "  authentication: server " << field(auth, "server-policy")
	    << " client " << field(auth, "client-policy");
	if (auth.contains("client-key"))
		out << " key " << field(auth, "client-key");
	for (const char *name : { "authenticated", "turned-away" })
		if (number(auth, name))
			out << " " << name << " " << number(auth, name);
	for (const Json &count : list(auth, "reason"))
		for (const std::string kind : { "without", "failed" })
			if (number(count, kind.c_str()))
				out << " " << kind << "-"
				    << field(count, "reason") << " "
				    << number(count, kind.c_str());
	out << "\n";
}

void directions(std::ostringstream &out, const char *name, const Json &counts)
{
	std::string line;

	for (const Json &count : counts) {
		line += " " + field(count, "name") + " ";
		line += count.contains("sent") ?
				of_two(count, "sent", "received") :
				field(count, "received");
	}
	if (!line.empty())
		out << "  " << name << ":" << line << "\n";
}

} // namespace

std::string table_of_connections(const std::vector<Json> &conns)
{
	std::vector<Row> rows = { { "ID", "ROLE", "STATE", "VER", "LOCAL",
				    "PEER", "DEVICE", "CREDITS", "CALLS",
				    "AGE", "MOUNT/EXPORT" } };

	for (const Json &conn : conns) {
		const Json &credits = nest(conn, "credits");
		rows.push_back({ field(conn, "id"), field(conn, "role"),
				 field(conn, "state"), version(conn),
				 field(conn, "local-address"),
				 field(conn, "peer-address"),
				 field(conn, "device"),
				 field(credits, "available") + "+" +
					 of_two(credits, "in-use", "window"),
				 field(conn, "calls-sent") + "+" +
					 field(conn, "calls-received"),
				 duration(number(conn, "age")),
				 uses_of(conn) });
	}
	return aligned(rows);
}

std::string details_of_connection(const Json &conn)
{
	std::ostringstream out;

	out << field(conn, "id") << ": " << field(conn, "role") << " "
	    << field(conn, "local-address") << " - "
	    << field(conn, "peer-address") << " " << field(conn, "state")
	    << "\n  version: " << version(conn) << " (" << field(conn, "choice")
	    << ") device: " << field(conn, "device")
	    << " port: " << field(conn, "port")
	    << " age: " << duration(number(conn, "age")) << "\n";
	for (const char *kind : { "mounts", "exports" })
		words(out, kind, list(conn, kind));
	for (const char *loss : { "loss", "previous-loss", "reconnects" })
		if (conn.contains(loss))
			out << "  " << loss << ": " << field(conn, loss)
			    << "\n";
	if (conn.contains("authentication"))
		out << "  authentication: "
		    << authentication(conn.at("authentication")) << "\n";
	words(out, "extensions", list(conn, "extension"));
	properties(out, "local", nest(conn, "local-properties"));
	properties(out, "peer", nest(conn, "peer-properties"));
	out << "  credits:";
	for (const auto &[key, value] : nest(conn, "credits").items())
		out << " " << key << " " << json_text(value);
	out << "\n  calls: sent " << field(conn, "calls-sent") << " received "
	    << field(conn, "calls-received");
	if (conn.contains("round-trip"))
		out << " round-trip " << field(conn, "round-trip");
	out << "\n  regions:";
	for (const auto &[key, value] : nest(conn, "regions").items())
		out << " " << key << " " << json_text(value);
	out << "\n  buffer-memory: " << field(conn, "buffer-memory")
	    << " held-memory: " << field(conn, "held-memory") << "\n";
	limits(out, "memory", nest(conn, "memory"));
	directions(out, "header types (sent/received)",
		   list(conn, "header-type"));
	counters(out, "formats", nest(conn, "formats"));
	counters(out, "octets", nest(conn, "octets"));
	directions(out, "errors (sent/received)", list(conn, "error"));
	directions(out, "refused", list(conn, "refusal"));
	counters(out, "events", nest(conn, "events"));
	return out.str();
}

std::string table_of_devices(const std::vector<Json> &devices)
{
	std::vector<Row> rows = { { "INDEX", "NAME", "PROTOCOL", "CONNECTIONS",
				    "CLIENT", "SERVER" } };

	for (const Json &device : devices) {
		const auto use = [&](const char *unfit) {
			return device.contains(unfit) ? field(device, unfit) :
							"yes";
		};
		rows.push_back(
			{ field(device, "index"), field(device, "name"),
			  device.value("iwarp", false) ? "iWARP" : "IB/RoCE",
			  field(device, "connections"), use("client-unfit"),
			  use("server-unfit") });
	}
	return aligned(rows);
}

std::string table_of_listeners(const std::vector<Json> &listeners)
{
	std::vector<Row> rows = { { "ID", "ADDRESS", "DEVICE", "LISTENING",
				    "PENDING" } };

	for (const Json &listener : listeners)
		rows.push_back({ field(listener, "id"),
				 field(listener, "address"),
				 field(listener, "device"),
				 field(listener, "listening"),
				 field(listener, "pending") });
	return aligned(rows);
}

std::string table_of_settings(const Json &settings)
{
	std::vector<Row> rows = { { "NAME", "VALUE", "DEFAULT", "RANGE", "UNIT",
				    "ROLE", "TAKES EFFECT" } };

	for (const Json &setting : settings)
		rows.push_back({ field(setting, "name"),
				 field(setting, "value"),
				 field(setting, "default"),
				 field(setting, "lowest") + "-" +
					 field(setting, "highest"),
				 field(setting, "unit"),
				 field(setting, "role"),
				 field(setting, "takes-effect") });
	return aligned(rows);
}

std::string lines_of_module(const Json &module)
{
	std::ostringstream out;
	const Json &defaults = nest(module, "defaults");

	out << field(module, "name") << " " << field(module, "version")
	    << ", tested with Linux";
	for (const Json &kernel : list(module, "tested-kernel"))
		out << " " << kernel.get<std::string>();
	out << "\n";
	for (const auto &[name, value] : nest(module, "parameters").items()) {
		out << "  " << name << ": " << json_text(value);
		if (defaults.contains(name) && defaults.at(name) != value)
			out << " (default " << json_text(defaults.at(name))
			    << ")";
		out << "\n";
	}
	counters(out, "memory", nest(module, "memory"));
	authentications(out, nest(module, "authentication"));
	return out.str();
}

std::string event_line(const std::string &event, const Json &conn)
{
	std::string line = event + " " + field(conn, "id") + " " +
			   field(conn, "role") + " " +
			   field(conn, "local-address") + " - " +
			   field(conn, "peer-address") + " " +
			   field(conn, "device") + " version " + version(conn);

	if (event == "up" || event == "version")
		line += " (" + field(conn, "choice") + ")";
	const Json &auth = nest(conn, "authentication");
	if (event == "auth-failed")
		line += ": " + field(auth, "reason") + ", key " +
			(auth.contains("key") ? field(auth, "key") : "none");
	if (event == "up" && field(auth, "outcome") == "authenticated")
		line += " authenticated, key " + field(auth, "key");
	/* An attempt that has failed. */
	if (event == "down" && !conn.value("was-up", true))
		line += " never up,";
	if (conn.contains("loss"))
		line += " after " + duration(number(conn, "age")) + ": " +
			field(conn, "loss");
	return line;
}

/* ------------------------------------------------------------------ */
/* Rates                                                              */
/* ------------------------------------------------------------------ */

namespace
{

struct Totals {
	double sent = 0;
	double received = 0;
	double octets_sent = 0;
	double octets_received = 0;
	double calls = 0;
	double waits = 0;
};

double counted(const Json &conn, const char *names, const char *direction)
{
	double sum = 0;

	for (const Json &count : list(conn, names))
		sum += static_cast<double>(number(count, direction));
	return sum;
}

/* Octets that RDMA moved count where they went: a client's reads are the peer's. */
Totals totals(const Json &conn)
{
	const Json &octets = nest(conn, "octets");
	const Json &formats = nest(conn, "formats");
	const bool client = field(conn, "role") == "client";
	const double to_server = static_cast<double>(
		number(octets, "read-chunk") + number(octets, "call-chunk"));
	const double to_client = static_cast<double>(
		number(octets, "write-chunk") + number(octets, "reply-chunk"));
	Totals t;

	t.sent = counted(conn, "header-type", "sent");
	t.received = counted(conn, "header-type", "received");
	t.octets_sent = static_cast<double>(number(octets, "wire-sent")) +
			(client ? to_server : to_client);
	t.octets_received =
		static_cast<double>(number(octets, "wire-received")) +
		(client ? to_client : to_server);
	for (const char *format : { "simple", "continued", "special" })
		t.calls += static_cast<double>(number(
			formats, (std::string(format) + "-sent").c_str()));
	t.waits = static_cast<double>(number(nest(conn, "credits"), "waits"));
	return t;
}

const Json *same(const std::vector<Json> &conns, const Json &conn)
{
	for (const Json &c : conns)
		if (c.at("id") == conn.at("id"))
			return &c;
	return nullptr;
}

} // namespace

std::string table_of_rates(const std::vector<Json> &before,
			   const std::vector<Json> &now, double seconds)
{
	std::vector<Row> rows = { { "ID", "PEER", "VER", "RPC/s", "MSG-OUT/s",
				    "MSG-IN/s", "OUT B/s", "IN B/s", "WAITS/s",
				    "CREDITS", "CALLS" } };

	for (const Json &conn : now) {
		const Json *old = same(before, conn);
		const Totals was = old ? totals(*old) : Totals();
		const Totals is = totals(conn);
		const Json &credits = nest(conn, "credits");
		const auto rate = [&](double from, double to) {
			return scaled(std::max(0.0, to - from) / seconds);
		};
		rows.push_back({ field(conn, "id"), field(conn, "peer-address"),
				 version(conn), rate(was.calls, is.calls),
				 rate(was.sent, is.sent),
				 rate(was.received, is.received),
				 rate(was.octets_sent, is.octets_sent),
				 rate(was.octets_received, is.octets_received),
				 rate(was.waits, is.waits),
				 field(credits, "available") + "+" +
					 of_two(credits, "in-use", "window"),
				 field(conn, "calls-sent") + "+" +
					 field(conn, "calls-received") });
	}
	return aligned(rows);
}

/* ------------------------------------------------------------------ */
/* Metrics                                                            */
/* ------------------------------------------------------------------ */

namespace
{

using Labels = std::vector<std::pair<std::string, std::string>>;

std::string escaped(const std::string &value)
{
	std::string text;

	for (const char c : utf8(value)) {
		if (c == '\\' || c == '"')
			text += '\\';
		if (c == '\n')
			text += "\\n";
		else
			text += c;
	}
	return text;
}

struct Sink {
	std::ostringstream text;
	Format format;
};

/*
 * A family: its name, type and help, then its samples. The samples of a counter have a
 * suffix; in the older format the family has it, too. The type of an info is gauge: that
 * format knows no other.
 */
class Family {
public:
	Family(Sink &sink, const char *name, const char *type, const char *help)
		: out_(sink.text)
		, name_(std::string("rpcrdma_") + name)
		, suffix_(std::string(type) == "counter" ? "_total" : "")
	{
		if (sink.format == Format::Prometheus)
			name_ += std::exchange(suffix_, "");
		out_ << "# TYPE " << name_ << " " << type << "\n# HELP "
		     << name_ << " " << help << "\n";
	}

	void sample(const Labels &labels, const std::string &value)
	{
		const char *separator = "{";

		out_ << name_ << suffix_;
		for (const auto &[label, text] : labels) {
			out_ << separator << label << "=\"" << escaped(text)
			     << "\"";
			separator = ",";
		}
		out_ << (labels.empty() ? " " : "} ") << value << "\n";
	}
	void sample(const Labels &labels, const Json &object, const char *name)
	{
		if (object.contains(name))
			sample(labels, json_text(object.at(name)));
	}

private:
	std::ostringstream &out_;
	std::string name_;
	std::string suffix_;
};

Labels with(Labels labels, const char *label, const std::string &value)
{
	labels.emplace_back(label, value);
	return labels;
}

Labels labels_of(const Json &conn)
{
	return { { "id", field(conn, "id") },
		 { "role", field(conn, "role") },
		 { "peer", field(conn, "peer-address") } };
}

/* "1.250" of 1250 thousandths, "0.000007" of 7 millionths. */
std::string seconds(std::uint64_t parts, int digits)
{
	std::string text = std::to_string(parts);

	if (text.size() <= static_cast<std::size_t>(digits))
		text.insert(0, digits + 1 - text.size(), '0');
	text.insert(text.size() - digits, ".");
	return text;
}

/* A sample for each member of a nest but @total, which is about all the others. */
void members(Family &family, const Json &conn, const char *name,
	     const char *label, const std::string &total = "")
{
	for (const auto &[key, value] : nest(conn, name).items())
		if (key != total)
			family.sample(with(labels_of(conn), label, key),
				      json_text(value));
}

/* The same of "KIND-sent" and "KIND-received", or KIND alone. */
void moved(Family &family, const Json &conn, const char *name,
	   const char *label, const std::string &total = "")
{
	for (const auto &[key, value] : nest(conn, name).items()) {
		const std::size_t dash = key.rfind('-');
		const std::string end =
			dash == std::string::npos ? "" : key.substr(dash + 1);
		Labels labels = labels_of(conn);
		if (end == "sent" || end == "received") {
			labels.emplace_back(label, key.substr(0, dash));
			labels.emplace_back("direction", end);
		} else {
			labels.emplace_back(label, key);
			labels.emplace_back("direction", "rdma");
		}
		if (total.empty() || key.substr(0, dash) != total)
			family.sample(labels, json_text(value));
	}
}

void counts(Family &family, const Json &conn, const char *name,
	    const char *label)
{
	for (const Json &count : list(conn, name)) {
		const Labels labels =
			with(labels_of(conn), label, field(count, "name"));
		for (const char *direction : { "sent", "received" })
			family.sample(with(labels, "direction", direction),
				      count, direction);
	}
}

/* What RPCs hold of a server's memory, or with @limit what they may hold. */
void held(Family &family, const Json &conn, bool limit)
{
	const Json &memory = nest(conn, "memory");

	for (const std::string kind : { "calls", "replies" })
		family.sample(with(labels_of(conn), "kind", kind), memory,
			      (limit ? kind + "-limit" : kind).c_str());
}

/* What the module holds for all connections. */
struct ModuleValue {
	const char *name;
	const char *kind;
	const char *key;
	const char *help;
};

constexpr ModuleValue kMemory[] = {
	{ "memory_limit_bytes", "gauge", "limit",
	  "Memory that all connections of the machine together may hold." },
	{ "memory_bytes", "gauge", "held",
	  "Memory that all connections of the machine together hold." },
	{ "memory_max_bytes", "gauge", "most",
	  "The most that they have held since the module was loaded." },
	{ "memory_held_back", "counter", "held-back",
	  "How often something had to wait because of the limit." },
	{ "memory_refused", "counter", "refused",
	  "How often a connection wanted more than the limit." },
};

/* What has become of host authentication, by outcome and reason. */
void authentications(Family &family, const Json &auth)
{
	const auto put = [&](const Json &object, const char *outcome,
			     const std::string &reason) {
		family.sample({ { "outcome", outcome }, { "reason", reason } },
			      object, outcome);
	};

	put(auth, "authenticated", "none");
	for (const Json &count : list(auth, "reason"))
		for (const char *outcome : { "without", "failed" })
			put(count, outcome, field(count, "reason"));
}

/* How far each side may go ahead of the other: a gauge each, in messages. */
struct Credits {
	const char *name;
	const char *key;
	const char *help;
};

constexpr Credits kCredits[] = {
	{ "send_credit_messages", "available",
	  "Messages that this side may send before it gets more credit." },
	{ "window_messages", "window",
	  "Messages that this side lets the peer send ahead." },
	{ "window_used_messages", "in-use",
	  "Messages of the window that the peer has used up now." },
	{ "window_used_max_messages", "high-water",
	  "The most that has been used of the window." },
};

/* The lowest version of the connections with the mount's server. */
std::string version_of(const Mount &mount, const std::vector<Json> &conns)
{
	std::uint64_t lowest = 0;

	if (mount.protocol != "rdma")
		return "-";
	for (const Json &conn : conns) {
		const std::uint64_t v = number(conn, "version");
		if (field(conn, "role") == "client" &&
		    field(conn, "peer-address") == mount.peer && v &&
		    (!lowest || v < lowest))
			lowest = v;
	}
	return lowest ? std::to_string(lowest) : "-";
}

} // namespace

std::string metrics(const Status &s, Format format)
{
	Sink out = { {}, format };
	const auto each = [&](Family family, auto &&put) {
		for (const Json &conn : s.connections)
			put(family, conn);
	};

	const bool loaded = !s.module.empty();

	Family(out, "module_loaded", "gauge",
	       "1 if this module is loaded; 0 if none is, or the kernel's own.")
		.sample({}, loaded ? "1" : "0");
	{
		Family family(out, "module_info", "gauge",
			      "The module that is loaded.");
		if (loaded)
			family.sample(
				{ { "version", field(s.module, "version") } },
				"1");
	}
	{
		Family family(out, "mount_info", "gauge",
			      "NFS mounts that are to use RDMA, and what they "
			      "use.");
		for (const Mount &mount : s.mounts)
			family.sample(
				{ { "mount", mount.point },
				  { "peer",
				    mount.peer.empty() ? "-" : mount.peer },
				  { "protocol", mount.protocol },
				  { "version",
				    version_of(mount, s.connections) } },
				"1");
	}
	{
		Family family(out, "device_info", "gauge",
			      "RDMA devices and whether they can be used.");
		for (const Json &device : s.devices)
			family.sample(
				{ { "device", field(device, "name") },
				  { "client", device.contains("client-unfit") ?
						      "no" :
						      "yes" },
				  { "server", device.contains("server-unfit") ?
						      "no" :
						      "yes" } },
				"1");
	}
	{
		Family family(out, "device_connections", "gauge",
			      "Connections of each device.");
		for (const Json &device : s.devices)
			family.sample({ { "device", field(device, "name") } },
				      device, "connections");
	}
	{
		Family family(out, "listener_pending", "gauge",
			      "Connections that no thread has accepted yet.");
		for (const Json &listener : s.listeners)
			family.sample(
				{ { "id", field(listener, "id") },
				  { "address", field(listener, "address") },
				  { "device", field(listener, "device") } },
				listener, "pending");
	}
	const Json &memory = nest(s.module, "memory");

	for (const auto &[name, kind, key, help] : kMemory) {
		Family family(out, name, kind, help);
		if (memory.contains(key))
			family.sample({}, memory, key);
	}
	const Json &auth = nest(s.module, "authentication");

	{
		Family family(out, "authentication_policy_info", "gauge",
			      "What this host asks of others in host "
			      "authentication.");
		for (const std::string role : { "server", "client" })
			if (!auth.empty())
				family.sample({ { "role", role },
						{ "policy",
						  field(auth, (role + "-policy")
								      .c_str()) } },
					      "1");
	}
	{
		Family family(out, "authentications", "counter",
			      "Connections by outcome of host authentication.");
		authentications(family, auth);
	}
	{
		Family family(out, "authentication_turned_away", "counter",
			      "Connections of clients that had failed to "
			      "authenticate too often.");
		family.sample({}, auth, "turned-away");
	}
	each(Family(out, "authentication_info", "gauge",
		    "Host authentication of a connection."),
	     [](Family &family, const Json &conn) {
		     if (!conn.contains("authentication"))
			     return;
		     Labels labels = labels_of(conn);
		     for (const char *name :
			  { "policy", "outcome", "reason", "key" })
			     labels.emplace_back(
				     name,
				     field(conn.at("authentication"), name));
		     family.sample(labels, "1");
	     });
	each(Family(out, "connection_info", "gauge", "What a connection is."),
	     [](Family &family, const Json &conn) {
		     Labels labels = labels_of(conn);
		     for (const char *name : { "local-address", "device",
					       "version", "choice", "state" }) {
			     std::string label = name;
			     std::replace(label.begin(), label.end(), '-', '_');
			     labels.emplace_back(label, field(conn, name));
		     }
		     family.sample(labels, "1");
	     });
	each(Family(out, "reconnection_info", "gauge",
		    "Connections that followed one that was lost, and why it "
		    "was."),
	     [](Family &family, const Json &conn) {
		     if (conn.contains("previous-loss"))
			     family.sample(with(labels_of(conn), "reason",
						field(conn, "previous-loss")),
					   "1");
	     });
	each(Family(out, "reconnects", "gauge",
		    "How many connections of the same mount were lost before "
		    "a connection."),
	     [](Family &family, const Json &conn) {
		     family.sample(labels_of(conn), conn, "reconnects");
	     });
	each(Family(out, "connection_age_seconds", "gauge",
		    "Time since a connection was made."),
	     [](Family &family, const Json &conn) {
		     family.sample(labels_of(conn),
				   seconds(number(conn, "age"), 3));
	     });
	/* The counts among the credits wrap: rpcrdma_messages_total does not. */
	for (const auto &[name, key, help] : kCredits)
		each(Family(out, name, "gauge", help),
		     [key](Family &family, const Json &conn) {
			     family.sample(labels_of(conn),
					   nest(conn, "credits"), key);
		     });
	each(Family(out, "calls", "gauge",
		    "Calls that were sent or received and have no Reply yet."),
	     [](Family &family, const Json &conn) {
		     family.sample(with(labels_of(conn), "direction", "sent"),
				   conn, "calls-sent");
		     family.sample(
			     with(labels_of(conn), "direction", "received"),
			     conn, "calls-received");
	     });
	each(Family(out, "round_trip_seconds", "gauge",
		    "The shortest time from a small Call to its Reply."),
	     [](Family &family, const Json &conn) {
		     if (conn.contains("round-trip"))
			     family.sample(labels_of(conn),
					   seconds(number(conn, "round-trip"),
						   6));
	     });
	each(Family(out, "regions", "gauge", "Memory regions by state."),
	     [](Family &family, const Json &conn) {
		     members(family, conn, "regions", "state", "total");
	     });
	each(Family(out, "connection_regions", "gauge",
		    "Memory regions, in whatever state."),
	     [](Family &family, const Json &conn) {
		     family.sample(labels_of(conn), nest(conn, "regions"),
				   "total");
	     });
	each(Family(out, "buffer_memory_bytes", "gauge",
		    "Send and Receive buffers."),
	     [](Family &family, const Json &conn) {
		     family.sample(labels_of(conn), conn, "buffer-memory");
	     });
	each(Family(out, "connection_memory_bytes", "gauge",
		    "Memory that is held for a connection while it exists."),
	     [](Family &family, const Json &conn) {
		     family.sample(labels_of(conn), conn, "held-memory");
	     });
	each(Family(out, "held_memory_bytes", "gauge",
		    "Memory that Calls and Replies hold at a server."),
	     [](Family &family, const Json &conn) {
		     held(family, conn, false);
	     });
	each(Family(out, "held_memory_limit_bytes", "gauge",
		    "The bound of that, for each connection."),
	     [](Family &family, const Json &conn) {
		     held(family, conn, true);
	     });
	each(Family(out, "held_back_calls", "counter",
		    "Calls that had to wait for memory of the server."),
	     [](Family &family, const Json &conn) {
		     family.sample(labels_of(conn), nest(conn, "memory"),
				   "held-back");
	     });
	each(Family(out, "messages", "counter", "Messages by header type."),
	     [](Family &family, const Json &conn) {
		     counts(family, conn, "header-type", "type");
	     });
	each(Family(out, "rpc_messages", "counter", "RPC messages by format."),
	     [](Family &family, const Json &conn) {
		     moved(family, conn, "formats", "format");
	     });
	each(Family(out, "moved_bytes", "counter",
		    "Octets of RPC messages by the way that they took."),
	     [](Family &family, const Json &conn) {
		     moved(family, conn, "octets", "way", "wire");
	     });
	each(Family(out, "wire_bytes", "counter",
		    "Octets of all Sends, with their headers."),
	     [](Family &family, const Json &conn) {
		     for (const std::string direction : { "sent", "received" })
			     family.sample(with(labels_of(conn), "direction",
						direction),
					   nest(conn, "octets"),
					   ("wire-" + direction).c_str());
	     });
	each(Family(out, "errors", "counter", "Error messages by code."),
	     [](Family &family, const Json &conn) {
		     counts(family, conn, "error", "code");
	     });
	each(Family(out, "refused_messages", "counter",
		    "Received messages that were refused, by reason."),
	     [](Family &family, const Json &conn) {
		     for (const Json &count : list(conn, "refusal"))
			     family.sample(with(labels_of(conn), "reason",
						field(count, "name")),
					   count, "received");
	     });
	each(Family(out, "credit_waits", "counter",
		    "How often a message had to wait for credit."),
	     [](Family &family, const Json &conn) {
		     family.sample(labels_of(conn), nest(conn, "credits"),
				   "waits");
	     });
	each(Family(out, "credit_wait_seconds", "counter",
		    "Time in which a message had to wait for credit."),
	     [](Family &family, const Json &conn) {
		     const Json &credits = nest(conn, "credits");
		     if (credits.contains("time-waited"))
			     family.sample(labels_of(conn),
					   seconds(number(credits,
							  "time-waited"),
						   6));
	     });
	each(Family(out, "credit_taken_back", "counter",
		    "How often the peer has taken credit back."),
	     [](Family &family, const Json &conn) {
		     family.sample(labels_of(conn), nest(conn, "credits"),
				   "taken-back");
	     });
	each(Family(out, "events", "counter",
		    "How often something has happened."),
	     [](Family &family, const Json &conn) {
		     members(family, conn, "events", "event");
	     });
	if (format == Format::OpenMetrics)
		out.text << "# EOF\n";
	return out.text.str();
}

} // namespace rpcrdmactl
