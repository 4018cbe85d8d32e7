// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include "properties.h"
#include "xdr.h"

namespace rpcrdma
{

bool decode_number(Bytes value, u32 &number)
{
	XdrReader r(value);

	return r.word(number) && !r.left();
}

void encode_number(u32 number, XdrWriter &w)
{
	w.word(number);
}

bool decode_flag(Bytes value, u32 &number)
{
	return decode_number(value, number) && number <= 1;
}

bool decode_reverse(Bytes value, u32 &number)
{
	if (!decode_number(value, number))
		return false;
	if (number > RPCRDMA_RVRSDIR_GENL)
		number = RPCRDMA_RVRSDIR_NONE;
	return true;
}

bool decode_host_auth(Bytes value, u32 &number)
{
	XdrReader r(value);
	Bytes material;

	return r.word(number) && r.opaque(number, material) && !r.left();
}

static bool get_value(u32 which, Bytes data, Properties &p, ReceiveTold &told)
{
	const u32 i = property_index(which);

	if (i == Extensions::kProperties)
		return true;
	const PropertyType &t = kPropertyTypes[i];
	u32 value = t.initial;

	if (data.size() && !t.decode(data, value))
		return false;
	if (u32 *n = number(p, i))
		*n = value;
	if (t.field == &rpcrdma_properties::recv_size)
		told.size = data.size() != 0;
	if (t.receive)
		told.structure = data.size() ? t.receive(data) : 0;
	return true;
}

static constexpr auto kAnnouncements = Extensions::announcements();

/* Each can be announced, by something of its own or the property for all. */
static constexpr bool announceable()
{
	for (u32 e = 1; e <= Extensions::kOthers; e++) {
		const u32 i = property_index(kAnnouncements[e].property);

		if (i < kBaseProperties || i == Extensions::kProperties)
			return false;
	}
	return true;
}
static_assert(announceable());

/* The index of the property of each. */
static constexpr auto announced_at()
{
	Table<u32, 1 + Extensions::kOthers> at = {};

	for (u32 e = 1; e <= Extensions::kOthers; e++)
		at.rows[e] = property_index(kAnnouncements[e].property);
	return at;
}
static constexpr auto kAnnouncedAt = announced_at();

bool announced(const Properties &p, u32 extension)
{
	return *number(p, kAnnouncedAt[extension]) &
	       kAnnouncements[extension].bits;
}

void announce(u32 extensions, Properties &p)
{
	for (u32 i = kBaseProperties; i < Extensions::kProperties; i++) {
		const PropertyType &t = kPropertyTypes[i];

		if (t.extension && extensions >> t.extension & 1)
			*number(p, i) = t.ours;
	}
	for (u32 e = 1; e <= Extensions::kOthers; e++)
		if (extensions >> e & 1)
			*number(p,
				property_index(kAnnouncements[e].property)) |=
				kAnnouncements[e].bits;
}

PropertyParse decode_properties(Bytes in, Properties &p, ReceiveTold &told)
{
	Properties staged = p;
	ReceiveTold staged_told = told;
	XdrReader r(in);
	u32 count;

	if (!r.word(count))
		return PropertyParse::BadXdr;
	for (; count; count--) {
		u32 which;
		u32 length;
		Bytes data;

		if (!r.word(which) || !r.word(length))
			return PropertyParse::BadXdr;
		/* Section 5.1: longer than the message is a bad value. */
		if (!r.opaque(length, data) ||
		    !get_value(which, data, staged, staged_told))
			return PropertyParse::BadValue;
	}
	if (r.left())
		return PropertyParse::BadXdr;
	p = staged;
	told = staged_told;
	return PropertyParse::Ok;
}

/* Whoever does not know of an extension need not hear of it. */
static bool is_told(const Properties &p, u32 index)
{
	const PropertyType &t = kPropertyTypes[index];
	const u32 *n = number(p, index);

	return n && t.encode && (t.field || *n != t.initial);
}

u32 encode_properties(const Properties &p, MutableBytes out)
{
	XdrWriter w(out);
	u32 count = 0;

	w.word(count);
	for (u32 i = 0; i < Extensions::kProperties; i++) {
		if (!is_told(p, i))
			continue;
		count++;
		w.word(kPropertyTypes[i].id);
		w.word(0);
		const u32 at = w.size();
		kPropertyTypes[i].encode(*number(p, i), w);
		w.word_at(at - sizeof(u32), w.size() - at);
	}
	w.word_at(0, count);
	return w.ok() ? w.size() : 0;
}

bool properties_valid(const rpcrdma_properties &p)
{
	for (const PropertyType &t : BaseProtocol::kProperties)
		if (t.field && (p.*t.field < t.least || p.*t.field > t.most))
			return false;
	return true;
}

} // namespace rpcrdma
