// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include "nfs3.h"

#include "../unit/version1.h"

#include <algorithm>
#include <arpa/inet.h>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <fstream>
#include <gtest/gtest.h>
#include <poll.h>
#include <sstream>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace peer
{

static const char kAddress[] = "192.0.2.1";
/* In the directory, as far as READDIRPLUS knows. */
static constexpr u32 kNames = 12;
static constexpr u32 kNameLength = 120;
const char Nfs3::kWhere[] = "/mnt/wire";

/* ------------------------------------------------------------------ */
/* MOUNT                                                              */
/* ------------------------------------------------------------------ */

MountDaemon::MountDaemon()
	: listener_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0))
{
	sockaddr_in sin = {};
	socklen_t size = sizeof(sin);

	sin.sin_family = AF_INET;
	if (bind(listener_, reinterpret_cast<sockaddr *>(&sin), size) ||
	    listen(listener_, 4) ||
	    getsockname(listener_, reinterpret_cast<sockaddr *>(&sin), &size))
		throw Failure("no TCP port for the MOUNT protocol");
	port_ = ntohs(sin.sin_port);
	thread_ = std::thread([this] { serve(); });
}

MountDaemon::~MountDaemon()
{
	stop_ = true;
	/* Whoever waits for a connection there sees that. */
	shutdown(listener_, SHUT_RDWR);
	thread_.join();
	close(listener_);
}

static bool get(int fd, u8 *to, size_t length)
{
	while (length) {
		const ssize_t n = ::read(fd, to, length);

		if (n <= 0)
			return false;
		to += n;
		length -= static_cast<size_t>(n);
	}
	return true;
}

/* One record, one fragment. */
bool MountDaemon::answer(int fd)
{
	Octets mark(4);

	if (!get(fd, mark.data(), 4))
		return false;
	Octets call(unit::word_at(mark, 0) & 0x7fffffff);
	if (call.size() < 24 || !get(fd, call.data(), call.size()))
		return false;

	Words reply = { unit::word_at(call, 0), 1, 0, 0, 0, 0 };
	/* MNT: the root's handle, and AUTH_SYS. Nothing else says anything. */
	if (unit::word_at(call, 5) == 1)
		reply = reply + Words{ 0, 4, 1, 1, 1 };
	const u32 size = static_cast<u32>(4 * reply.size());
	const Octets out = unit::octets(Words{ 0x80000000 | size } + reply);
	return ::write(fd, out.data(), out.size()) ==
	       static_cast<ssize_t>(out.size());
}

void MountDaemon::serve()
{
	while (!stop_) {
		pollfd wait = { listener_, POLLIN, 0 };

		if (::poll(&wait, 1, -1) != 1 || stop_)
			continue;
		const int fd =
			accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
		const timeval patience = { 5, 0 };

		setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience,
			   sizeof(patience));
		while (!stop_ && answer(fd))
			;
		close(fd);
	}
}

/* ------------------------------------------------------------------ */
/* System calls                                                       */
/* ------------------------------------------------------------------ */

Child::Child(const std::function<int()> &work)
	: pid_(fork())
{
	if (pid_ < 0)
		throw Failure("cannot fork");
	if (!pid_)
		_exit(work());
}

Child::~Child()
{
	if (pid_ <= 0 || status_ >= 0)
		return;
	kill(pid_, SIGKILL);
	/* It may be stuck, which is for another test to find out. */
	for (int i = 0; i < 20 && !ended(); i++)
		usleep(100000);
}

bool Child::ended()
{
	int status;

	if (status_ < 0 && waitpid(pid_, &status, WNOHANG) == pid_)
		status_ = WIFEXITED(status) ? WEXITSTATUS(status) : 255;
	return status_ >= 0;
}

/* Throws if @what ended with @error. */
static void has_worked(const std::string &what, int error)
{
	if (error)
		throw Failure(what + ": " + std::strerror(error));
}

Setting::Setting(std::string file, u32 value)
	: file_(std::move(file))
{
	std::ifstream(file_) >> before_;
	if (!(std::ofstream(file_) << value << std::flush))
		throw Failure("cannot write to " + file_);
}

Setting::~Setting()
{
	std::ofstream(file_) << before_;
}

/* ------------------------------------------------------------------ */
/* The server                                                         */
/* ------------------------------------------------------------------ */

static void usual_opening(Peer &p)
{
	p.take_properties(p.next());
	p.send(unit::connprop(p.new_xid()));
}

/*
 * Each has a port of its own: a mount that failed in an earlier test may still connect
 * to where its server was, some seconds after that test has ended.
 */
static u16 new_port()
{
	/* This machine's nfsd may listen on kPort. */
	static u16 port = kPort + 1;

	return port++;
}

Nfs3::Nfs3()
	: opening(usual_opening)
	, port_(new_port())
	, listener_(nullptr, port_)
	, content_(kFileSize)
{
	for (u32 i = 0; i < kFileSize; i++)
		content_[i] = static_cast<u8>(i * 11 + (i >> 8) * 5);
}

Nfs3::~Nfs3()
{
	if (!mounted_)
		return;
	/* Whatever state it is in. */
	peer_.reset();
	try {
		Child child(
			[] { return umount2(kWhere, MNT_FORCE | MNT_DETACH); });
		for (int i = 0; i < 50 && !child.ended(); i++)
			usleep(100000);
	} catch (const Failure &failure) {
		ADD_FAILURE() << failure.what();
	}
}

void Nfs3::on(Proc proc, std::function<bool(Peer &, const Rpc &)> answer)
{
	hooks_[proc] = std::move(answer);
}

u32 Nfs3::count(Proc proc) const
{
	const auto found = counts_.find(proc);

	return found == counts_.end() ? 0 : found->second;
}

Peer &Nfs3::peer()
{
	if (!peer_)
		throw Failure("there is no connection");
	return *peer_;
}

/* Take in at most one thing that happens. */
void Nfs3::step(int ms)
{
	if (peer_ && !peer_->link().alive())
		peer_.reset();
	if (std::unique_ptr<Link> link = listener_.accept(peer_ ? 0 : ms)) {
		connections_++;
		peer_ = std::make_unique<Peer>(std::move(link));
		try {
			opening(*peer_);
		} catch (const Failure &) {
			/* The client gave up; a test notices what matters. */
			if (peer_->link().alive())
				throw;
		}
		return;
	}
	if (!peer_)
		return;
	const std::optional<Message> m = peer_->poll(ms);
	if (m)
		take(*m);
}

void Nfs3::take(Message m)
{
	if (peer_->version() == 2 && m.htype() == RPCRDMA2_GRANT)
		return;
	if (!peer_->is_rpc(m)) {
		if (control)
			control(*peer_, m);
		return;
	}
	if (message && message(*peer_, m))
		return;
	const Rpc call = peer_->rpc_from(std::move(m));
	/* The procedure's number, wherever the stream is. */
	const Octets stream = unreduced(*peer_, call);
	Rpc whole = call;

	whole.stream = stream;
	/* Of those that are not in a chunk this is known. */
	if (whole.word(0) != call.xid || whole.word(1) != RPCRDMA_CALL)
		throw Failure("the Call chunk has another message");
	const u32 proc = whole.word(5);
	counts_[proc]++;
	last = whole;
	const auto hook = hooks_.find(proc);
	if (hook == hooks_.end() || !hook->second(*peer_, whole))
		reply(*peer_, whole);
	/* Each of ours gives credit; a peer that hears nothing needs it too. */
	if (peer_ && peer_->link().alive() && peer_->version() == 2 &&
	    peer_->received() % 16 == 0 && peer_->credit() >= 0)
		peer_->send_grant();
}

/*
 * A message is seen at once; another connection or the end of a child only between two steps. What
 * has just begun may be over soon. A look at a guest that waits costs a millisecond.
 */
constexpr int kGlance = 20;
constexpr int kWait = 200;

int Nfs3::serve(Child &child, int seconds)
{
	const long begun = now();

	while (!child.ended()) {
		const long took = now() - begun;

		if (took > 1000L * seconds)
			throw Failure("system calls take too long");
		step(took < kWait ? kGlance : kWait);
	}
	return child.result();
}

void Nfs3::serve_for(int ms)
{
	const long end = now() + ms;

	for (long left; (left = end - now()) > 0;)
		step(static_cast<int>(std::min<long>(left, kWait)));
}

int Nfs3::try_mount(const std::string &options, int seconds)
{
	const std::string all =
		"vers=3,proto=rdma,port=" + std::to_string(port_) +
		",addr=" + kAddress + ",mountaddr=" + kAddress +
		",mountvers=3,mountproto=tcp,mountport=" +
		std::to_string(mountd_.port()) +
		",nolock,noacl,sec=sys,rsize=65536,wsize=65536,soft,timeo=100,"
		"retrans=1,noac" +
		(options.empty() ? "" : ",") + options;

	mkdir(kWhere, 0755);
	return serve(
		[&] {
			const std::string device = std::string(kAddress) + ":/";

			return ::mount(device.c_str(), kWhere, "nfs", 0,
				       all.c_str()) ?
				       errno :
				       0;
		},
		seconds);
}

void Nfs3::mount(const std::string &options)
{
	has_worked("mount", try_mount(options));
	mounted_ = true;
}

void Nfs3::unmount()
{
	has_worked("umount", serve([] { return umount(kWhere) ? errno : 0; }));
	mounted_ = false;
	/* The client ends the connection, and all is well with it until then. */
	const long end = now() + kPatience;
	while (peer_ && now() < end)
		step(kGlance);
	if (peer_)
		throw Failure("the client keeps its connection");
}

static std::string file()
{
	return std::string(Nfs3::kWhere) + "/file";
}

static u8 *aligned()
{
	static Octets memory(Nfs3::kFileSize + 8192);

	return memory.data() +
	       (4096 - reinterpret_cast<uintptr_t>(memory.data()) % 4096);
}

int Nfs3::read(u32 offset, u32 length, int seconds)
{
	return serve(
		[&] {
			const int fd =
				open(file().c_str(), O_RDONLY | O_DIRECT);

			if (fd < 0)
				return errno;
			const ssize_t n = pread(fd, aligned(), length, offset);
			if (n < 0)
				return errno;
			/* What was read is what there is. */
			return n == static_cast<ssize_t>(length) &&
					       !std::memcmp(aligned(),
							    &content_[offset],
							    length) ?
				       0 :
				       ERANGE;
		},
		seconds);
}

int Nfs3::write(u32 offset, u32 length, int seconds)
{
	u8 *memory = aligned();

	for (u32 i = 0; i < length; i++)
		memory[i] = static_cast<u8>(i * 3 + changes_);
	const Octets expected(memory, memory + length);
	const int error = serve(
		[&] {
			const int fd =
				open(file().c_str(), O_WRONLY | O_DIRECT);

			if (fd < 0)
				return errno;
			const ssize_t n = pwrite(fd, memory, length, offset);
			if (n < 0)
				return errno;
			/* As when other bytes were read. */
			return n == static_cast<ssize_t>(length) ? 0 : ERANGE;
		},
		seconds);

	if (!error && !std::equal(expected.begin(), expected.end(),
				  content_.begin() + offset))
		return ERANGE;
	return error;
}

void Nfs3::works()
{
	has_worked("the first READ, of 4096 octets", read(8192, 4096));
	has_worked("the first WRITE, of 65536 octets", write(0, 65536));
	has_worked("the second READ, of 65536 octets", read(0, 65536));
	has_worked("the second WRITE, of 12288 octets", write(4096, 12288));
	has_worked("the third READ, of 12288 octets", read(4096, 12288));
}

void Nfs3::works_again()
{
	usual_answers();
	works();
	unmount();
}

void Nfs3::works_on()
{
	works_again();
	if (connections_ != 1)
		throw Failure("the connection was replaced");
}

int Nfs3::stat(int seconds)
{
	return serve(
		[] {
			struct stat s;

			if (::stat(file().c_str(), &s))
				return errno;
			return s.st_size == kFileSize ? 0 : ERANGE;
		},
		seconds);
}

u64 Nfs3::statistic(u32 column)
{
	std::ifstream file("/proc/self/mountstats");
	std::string line;
	bool here = false;

	while (std::getline(file, line)) {
		std::istringstream words(line);
		std::string word;
		u64 value = 0;

		if (line.rfind("device ", 0) == 0)
			here = line.find(std::string(" on ") + kWhere + " ") !=
			       std::string::npos;
		if (!here || !(words >> word) || word != "xprt:")
			continue;
		words >> word;
		for (u32 i = 0; i < column; i++)
			words >> value;
		if (words)
			return value;
	}
	throw Failure("no such statistic");
}

u64 Nfs3::total(const std::string &name)
{
	std::ifstream file("/sys/kernel/debug/rpcrdma/totals");
	std::string line;

	while (std::getline(file, line))
		if (line.rfind(name + ": ", 0) == 0)
			return std::stoull(line.substr(name.size() + 2));
	throw Failure("no such total: " + name);
}

std::string Nfs3::loss()
{
	static constexpr char kEvent[] = " rpcrdma_lost: conn=";
	std::ifstream file("/sys/kernel/tracing/trace");
	std::string line, found;

	while (std::getline(file, line)) {
		const size_t at = line.find(kEvent);

		/* A test begins. */
		if (line.find(" tracing_mark_write: ") != std::string::npos)
			found.clear();
		if (at != std::string::npos)
			found = line.substr(
				line.find(' ', at + sizeof(kEvent)) + 1);
	}
	return found;
}

int Nfs3::list(int seconds)
{
	return serve(
		[] {
			DIR *directory = opendir(kWhere);
			u32 names = 0;

			if (!directory)
				return errno;
			errno = 0;
			while (const dirent *entry = readdir(directory))
				names += std::strlen(entry->d_name) ==
					 kNameLength;
			if (errno)
				return errno;
			return names == kNames ? 0 : ERANGE;
		},
		seconds);
}

/* The Call with what its chunks hold. */
Octets Nfs3::unreduced(Peer &p, const Rpc &call)
{
	Octets whole;
	const auto fetch = [&p](const Segment &s, Octets &to) {
		Octets part(s.length);

		if (!p.link().read(s.handle, s.offset, part))
			throw Failure("cannot read a chunk");
		to.insert(to.end(), part.begin(), part.end());
	};

	if (!call.external)
		whole = call.stream;
	for (const auto &[position, segment] : call.call)
		fetch(segment, whole);
	for (u32 i = 0; i < call.reads.size();) {
		const u32 position = call.reads[i].first;
		Octets data;

		while (i < call.reads.size() && call.reads[i].first == position)
			fetch(call.reads[i++].second, data);
		data.resize((data.size() + 3) & ~3UL);
		if (position > whole.size())
			throw Failure("a Read chunk lies outside its message");
		whole.insert(whole.begin() + position, data.begin(),
			     data.end());
	}
	return whole;
}

Words Nfs3::attributes(bool directory) const
{
	const u32 size = directory ? 4096 : kFileSize;

	return { directory ? 2u : 1u,
		 directory ? 0755u : 0644u,
		 1,
		 0,
		 0,
		 0,
		 size,
		 0,
		 size,
		 0,
		 0,
		 0,
		 77,
		 0,
		 directory ? 1u : 2u,
		 1,
		 changes_,
		 1,
		 changes_,
		 1,
		 changes_ };
}

/* The result of a call, from its accept_stat on. */
Octets Nfs3::result(Peer &p, const Rpc &call)
{
	const u32 proc = call.word(5);
	/* Past the credential and the verifier. */
	u32 at = 6;
	at += 2 + call.word(at + 1) / 4;
	at += 2 + call.word(at + 1) / 4;
	const bool has_handle = proc != kNull;
	const bool directory = !has_handle || call.word(at + 1) == 1;
	at += 2;
	Words w = { call.xid, 1, 0, 0, 0, 0 };
	const Words post = Words{ 1 } + attributes(directory);
	Octets data;

	(void)p;
	data_length_ = 0;
	switch (proc) {
	case kNull:
		break;
	case kGetattr3:
		w = w + Words{ 0 } + attributes(directory);
		break;
	case kSetattr3:
		w = w + Words{ 0, 0 } + post;
		break;
	case kLookup3:
		/* There is one name. */
		w = w + Words{ 0, 4, 2, 1 } + attributes(false) + post;
		break;
	case kAccess3:
		w = w + Words{ 0 } + post + Words{ call.word(at) };
		break;
	case kRead3: {
		const u32 offset = call.word(at + 1);
		const u32 length =
			std::min(call.word(at + 2), kFileSize - offset);

		w = w + Words{ 0 } + post +
		    Words{ length, offset + length == kFileSize, length };
		data.assign(content_.begin() + offset,
			    content_.begin() + offset + length);
		break;
	}
	case kWrite3: {
		const u32 offset = call.word(at + 1);
		const u32 length = call.word(at + 2);
		const auto from = call.stream.begin() + 4 * (at + 5);

		if (4 * (at + 5) + length > call.stream.size() ||
		    offset + length > kFileSize)
			throw Failure("a WRITE without its data");
		std::copy(from, from + length, content_.begin() + offset);
		changes_++;
		/* All is stable. */
		w = w + Words{ 0, 0, 0, length, 2, 7, 7 };
		break;
	}
	case kReaddirplus3:
		w = w + Words{ 0 } + post + Words{ 0, 0 };
		for (u32 i = 1; i <= kNames; i++) {
			const Words name(kNameLength / 4, 0x61616161 + i);

			/* fileid, name, cookie, neither attributes nor handle */
			w = w + Words{ 1, 0, 2 + i, kNameLength } + name +
			    Words{ 0, i, 0, 0 };
		}
		w = w + Words{ 0, 1 };
		break;
	case kFsstat3:
		w = w + Words{ 0 } + post +
		    Words{ 0,	 1 << 30, 0,   1 << 29, 0,   1 << 29, 0,
			   1000, 0,	  500, 0,	500, 0 };
		break;
	case kFsinfo3:
		w = w + Words{ 0 } + post + Words{ 1 << 20, 1 << 20, 4096,
						   1 << 20, 1 << 20, 4096,
						   4096,    0xffff,  0xffffffff,
						   0,	    1,	     0x1b };
		break;
	case kPathconf3:
		w = w + Words{ 0 } + post + Words{ 10, 255, 1, 1, 0, 1 };
		break;
	case kCommit3:
		w = w + Words{ 0, 0, 0, 7, 7 };
		break;
	default:
		/* NFS3ERR_NOTSUPP, no attributes */
		w = w + Words{ 10004, 0 };
	}

	Octets o = unit::octets(w);
	data_at_ = static_cast<u32>(o.size());
	data_length_ = static_cast<u32>(data.size());
	o.insert(o.end(), data.begin(), data.end());
	o.resize((o.size() + 3) & ~3UL);
	return o;
}

bool Nfs3::write_chunk(Peer &p, const Chunk &offered, const Octets &data,
		       Chunk &written)
{
	u32 at = 0;

	written = offered;
	for (Segment &s : written) {
		s.length =
			std::min(s.length, static_cast<u32>(data.size()) - at);
		if (!p.link().write(s.handle, s.offset,
				    Octets(data.begin() + at,
					   data.begin() + at + s.length)))
			throw Failure("cannot write a chunk");
		at += s.length;
	}
	return at == data.size();
}

Words words_of(const Chunk &chunk)
{
	Words w = { static_cast<u32>(chunk.size()) };

	for (const Segment &s : chunk)
		w = w + Words{ s.handle, s.length,
			       static_cast<u32>(s.offset >> 32),
			       static_cast<u32>(s.offset) };
	return w;
}

Words write_list(const Chunk &chunk)
{
	return Words{ 1 } + words_of(chunk) + Words{ 0 };
}

Words returning_longer_segments(const Chunk &offered)
{
	Chunk c = offered;

	for (Segment &s : c)
		s.length += 4;
	return write_list(c);
}

Words returning_other_handles(const Chunk &offered)
{
	Chunk c = offered;

	for (Segment &s : c)
		s.handle ^= 0x100;
	return write_list(c);
}

Words returning_more_segments(const Chunk &offered)
{
	Chunk c = offered;

	c.push_back({ c.at(0).handle, 0, c[0].offset });
	return write_list(c);
}

Words returning_more_chunks(const Chunk &offered)
{
	return Words{ 1 } + words_of(offered) + Words{ 1, 0, 0 };
}

/* No Reply is continued, and the Reply chunk is returned in any case. */
void Nfs3::reply_version1(Peer &p, const Rpc &call, const Words &writes,
			  const Octets &stream)
{
	const bool external =
		stream.size() + 256 > p.receive_size() && call.reply;
	Words lists = Words{ 0 } + writes;

	if (call.reply) {
		Chunk written;

		if (!write_chunk(p, *call.reply, external ? stream : Octets{},
				 written))
			throw Failure("the Reply chunk is too small");
		lists = lists + Words{ 1 } + words_of(written);
	} else {
		lists = lists + Words{ 0 };
	}
	if (!external &&
	    16 + 4 * lists.size() + stream.size() > p.receive_size())
		throw Failure("a Reply chunk should have been offered");
	p.send(unit::v1::prefix(call.xid,
				external ? RPCRDMA1_NOMSG : RPCRDMA1_MSG) +
		       lists,
	       external ? Octets{} : stream);
}

void Nfs3::reply(Peer &p, const Rpc &call)
{
	Octets stream = result(p, call);
	Words list = { 0 };

	if (sender)
		return sender(p, call, stream);
	if (!call.writes.empty()) {
		const auto data = stream.begin() + data_at_;
		Chunk written;

		write_chunk(p, call.writes[0],
			    Octets(data, data + data_length_), written);
		stream.erase(data, data + ((data_length_ + 3) & ~3));
		list = write_list(written);
	}
	if (p.version() == 1)
		return reply_version1(p, call, list, stream);

	const u32 most = p.receive_size();
	if (stream.size() + 256 > most && call.reply) {
		Chunk written;

		if (!write_chunk(p, *call.reply, stream, written))
			throw Failure("the Reply chunk is too small");
		p.send(unit::prefix(call.xid, RPCRDMA2_REPLY_EXTERNAL) + list +
		       Words{ 1 } + words_of(written));
		return;
	}
	while (stream.size() + 256 > most) {
		const u32 part = most - 256;

		p.send(unit::prefix(call.xid, RPCRDMA2_REPLY_MIDDLE) +
			       Words{ static_cast<u32>(stream.size()) - part },
		       Octets(stream.begin(), stream.begin() + part));
		stream.erase(stream.begin(), stream.begin() + part);
	}
	p.send(unit::prefix(call.xid, RPCRDMA2_REPLY_INLINE) + list, stream);
}

void Nfs3::error(Peer &p, const Rpc &call, const Words &body)
{
	p.send_last(unit::prefix(call.xid, RPCRDMA2_ERROR) + body);
}

} // namespace peer
