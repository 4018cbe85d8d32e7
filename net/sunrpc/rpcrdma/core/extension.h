/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Protocol extensions.
 *
 * An extension is a class. What of it is known when the core is compiled is in
 * constexpr tables; its state, if it has any, is in each session. extensions.h lists
 * all of them, the base protocol first, and nothing else names one: adding one is that
 * line and the file of the extension.
 *
 *	struct Example {
 *		static constexpr const char *kName = "example";
 *		static constexpr HeaderType kTypes[] = { ... };
 *		static constexpr PropertyType kProperties[] = { ... };
 *	};
 */
#ifndef _RPCRDMA_CORE_EXTENSION_H
#define _RPCRDMA_CORE_EXTENSION_H

#include "wire.h"
#include "xdr.h"

namespace rpcrdma
{

/* An array that a function can return. */
template <typename T, u32 N> struct Table {
	T rows[N] = {};

	[[nodiscard]] constexpr const T &operator[](u32 i) const
	{
		return rows[i];
	}
};

template <typename T, u32 N> constexpr u32 length(const T (&/*table*/)[N])
{
	return N;
}

/**
 * A transport property (section 5)
 * @id: rdma_which
 * @name: for people
 * @initial: its number for a peer that has not said otherwise
 * @decode: check a value of its XDR type, which is not empty, and make it a number.
 *	Return: false for RDMA2_ERR_BAD_PROPVAL.
 * @encode: write the value that is this number; nullptr if this side never sends it
 * @least: of this side's own numbers
 * @most: likewise
 * @ours: what this side says of itself if the property's extension is announced
 * @may_change: after the initial exchange, by a message of an extension
 * @field: where the number is kept, of the base protocol's own properties; these are
 *	always told, the others if they differ from @initial
 * @extension: whose it is; the list of extensions fills it in
 */
struct PropertyType {
	u32 id = 0;
	const char *name = nullptr;
	u32 initial = 0;
	bool (*decode)(Bytes value, u32 &number) = nullptr;
	void (*encode)(u32 number, XdrWriter &w) = nullptr;
	u32 least = 0;
	u32 most = UINT32_MAX;
	u32 ours = 0;
	bool may_change = false;
	u32 rpcrdma_properties::*field = nullptr;
	u8 extension = 0;
};

/* The XDR type uint32. */
[[nodiscard]] bool decode_number(Bytes value, u32 &number);
void encode_number(u32 number, XdrWriter &w);
/* The XDR type bool, which is 0 or 1. */
[[nodiscard]] bool decode_flag(Bytes value, u32 &number);

/**
 * All extensions, the base protocol first.
 *
 * Header types have an index without gaps (see RPCRDMA_TYPE_UNKNOWN in core.h), since
 * the numbers of extensions on the wire are anywhere below 2^32.
 */
template <typename Base, typename... Others> struct ExtensionList {
	/* Extensions besides the base protocol. */
	static constexpr u32 kOthers = sizeof...(Others);
	static constexpr u32 kBaseTypes = length(Base::kTypes);
	/* Header types of version 2. */
	static constexpr u32 kTypes =
		(kBaseTypes + ... + length(Others::kTypes));
	/* Indices of header types: with those of version 1, and the unknown ones. */
	static constexpr u32 kIndices =
		RPCRDMA_TYPE_UNKNOWN + 1 + kTypes - kBaseTypes;

	static constexpr u32 kBaseProperties = length(Base::kProperties);
	static constexpr u32 kProperties =
		(kBaseProperties + ... + length(Others::kProperties));

	/* The header types of version 2, with their index. */
	[[nodiscard]] static constexpr Table<HeaderType, kTypes> types()
	{
		Table<HeaderType, kTypes> t;
		u8 extension = 0;
		u32 n = 0;
		const auto add = [&](const auto &rows) {
			for (const HeaderType &row : rows) {
				HeaderType &type = t.rows[n];

				type = row;
				type.index = static_cast<u8>(
					extension ? first_index() + n :
						    row.htype);
				type.extension = extension;
				n++;
			}
			extension++;
		};

		add(Base::kTypes);
		(add(Others::kTypes), ...);
		return t;
	}

	/* Nobody else has the number of a header type. */
	[[nodiscard]] static constexpr bool types_differ()
	{
		const Table<HeaderType, kTypes> t = types();

		for (u32 i = 0; i < kTypes; i++)
			for (u32 j = 0; j < i; j++)
				if (t[i].htype == t[j].htype)
					return false;
		return true;
	}

	/* All properties; the place of each is its index. */
	[[nodiscard]] static constexpr Table<PropertyType, kProperties>
	properties()
	{
		Table<PropertyType, kProperties> t;
		u8 extension = 0;
		u32 n = 0;
		const auto add = [&](const auto &rows) {
			for (const PropertyType &row : rows) {
				t.rows[n] = row;
				t.rows[n].extension = extension;
				n++;
			}
			extension++;
		};

		add(Base::kProperties);
		(add(Others::kProperties), ...);
		return t;
	}

	/* Nobody else has the number of a property. */
	[[nodiscard]] static constexpr bool properties_differ()
	{
		const Table<PropertyType, kProperties> t = properties();

		for (u32 i = 0; i < kProperties; i++)
			for (u32 j = 0; j < i; j++)
				if (t[i].id == t[j].id)
					return false;
		return true;
	}

	[[nodiscard]] static constexpr Table<const char *, 1 + kOthers> names()
	{
		return { { Base::kName, Others::kName... } };
	}

private:
	/* To be added to the place in types() of what is no type of the base. */
	[[nodiscard]] static constexpr u32 first_index()
	{
		return RPCRDMA_TYPE_UNKNOWN + 1 - kBaseTypes;
	}
};

} // namespace rpcrdma

#endif /* _RPCRDMA_CORE_EXTENSION_H */
