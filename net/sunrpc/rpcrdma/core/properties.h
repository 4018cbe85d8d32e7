/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Transport properties (section 5): a property set on the wire, and the numbers of all
 * known properties.
 */
#ifndef _RPCRDMA_CORE_PROPERTIES_H
#define _RPCRDMA_CORE_PROPERTIES_H

#include "extensions.h"
#include "span.h"
#include <rpcrdma/core.h>

namespace rpcrdma
{

inline constexpr auto kPropertyTypes = Extensions::properties();
inline constexpr u32 kBaseProperties = Extensions::kBaseProperties;

static_assert(numbers_differ<&PropertyType::id>(Extensions::properties()));
static_assert(Extensions::kProperties <= RPCRDMA_MAX_PROPERTIES);

/* A number for each property: those of the base protocol, then those of others. */
struct Properties : rpcrdma_properties {
	u32 more[RPCRDMA_MAX_PROPERTIES - kBaseProperties] = {};
};

/* The number of the property with this index; nullptr if it has none. */
[[nodiscard]] constexpr const u32 *number(const Properties &p, u32 index)
{
	if (index >= kBaseProperties)
		return &p.more[index - kBaseProperties];
	const auto field = kPropertyTypes[index].field;

	return field ? &(p.*field) : nullptr;
}

[[nodiscard]] constexpr u32 *number(Properties &p, u32 index)
{
	return const_cast<u32 *>(
		number(static_cast<const Properties &>(p), index));
}

/* A peer with these properties knows the extension at this place in the list. */
[[nodiscard]] bool announced(const Properties &p, u32 extension);

/* Say so of those that have a bit in @extensions, by their place. */
void announce(u32 extensions, Properties &p);

/* The index of a property; Extensions::kProperties if it is not known. */
[[nodiscard]] constexpr u32 property_index(u32 which)
{
	u32 i = 0;

	while (i < Extensions::kProperties && kPropertyTypes[i].id != which)
		i++;
	return i;
}

/* In force for a peer that has not said otherwise (section 5.2). */
[[nodiscard]] constexpr Properties default_properties()
{
	Properties p = {};

	for (u32 i = 0; i < Extensions::kProperties; i++)
		if (u32 *n = number(p, i))
			*n = kPropertyTypes[i].initial;
	return p;
}

inline constexpr Properties kDefaultProperties = default_properties();

/**
 * What a peer has said of the size of its Receives
 * @size: it has told Receive Buffer Size
 * @structure: octets that another property has; zero if none was told
 */
struct ReceiveTold {
	bool size : 1 = false;
	u32 structure : 31 = 0;
};

enum class PropertyParse : u8 {
	Ok,
	BadXdr, /* the set itself ends too soon, or too late */
	BadValue, /* RDMA2_ERR_BAD_PROPVAL (section 5.1) */
};

/**
 * Decode a property set into @p.
 *
 * Properties that are not in the set keep their value, unknown ones are
 * skipped, a value of no octets means the default, the last of duplicates
 * counts. Every value of the XDR type is taken; a Reverse-Direction Support that
 * is not in the draft means the default.
 *
 * @told: what messages before this one have said, and this one
 *
 * Return: @p and @told are changed only if the result is Ok.
 */
[[nodiscard]] PropertyParse decode_properties(Bytes in, Properties &p,
					      ReceiveTold &told);

[[nodiscard]] inline PropertyParse decode_properties(Bytes in, Properties &p)
{
	ReceiveTold told;

	return decode_properties(in, p, told);
}

/*
 * All has been told. Without Receive Buffer Size it is what a structure adds up to (rtrext,
 * section 8.3). If both are there and contradict each other, the smaller one is safe.
 */
constexpr void settle_receive_size(const ReceiveTold &told, Properties &p)
{
	if (told.structure &&
	    (!told.size || told.structure < p.recv_size))
		p.recv_size = told.structure;
}

/* Octets of a set: a count; then for each which, length and a number. */
[[nodiscard]] constexpr u32 properties_size(u32 count)
{
	return (1 + count * 3) * sizeof(u32);
}

/* Of the base protocol's properties, those that are always told. */
[[nodiscard]] constexpr u32 always_told()
{
	u32 n = 0;

	for (const PropertyType &t : kPropertyTypes.rows)
		n += t.field != nullptr;
	return n;
}

inline constexpr u32 kPropertiesSize = properties_size(always_told());
/* With those of extensions. */
inline constexpr u32 kPropertiesSizeMax =
	properties_size(Extensions::kProperties);

/* Encode what there is to tell. Return: octets, zero if @out is too small. */
[[nodiscard]] u32 encode_properties(const Properties &p, MutableBytes out);

/* This side can say so of itself and do as it says. */
[[nodiscard]] bool properties_valid(const rpcrdma_properties &p);

} // namespace rpcrdma

#endif /* _RPCRDMA_CORE_PROPERTIES_H */
