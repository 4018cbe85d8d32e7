// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include "message.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <libmnl/libmnl.h>
#include <linux/genetlink.h>
#include <netinet/in.h>

#include "spec.h"

namespace rpcrdmactl
{

namespace
{

/* A message as the kernel makes it. */
class Message {
public:
	Message()
		: header_(mnl_nlmsg_put_header(buffer_))
	{
		mnl_nlmsg_put_extra_header(header_, GENL_HDRLEN);
	}
	nlmsghdr *operator*()
	{
		return header_;
	}
	[[nodiscard]] Json read(Set set) const
	{
		return read_message(*header_, set);
	}

private:
	alignas(nlmsghdr) char buffer_[4096] = {};
	nlmsghdr *header_;
};

sockaddr_in ipv4(std::uint16_t port)
{
	sockaddr_in in = {};

	in.sin_family = AF_INET;
	in.sin_port = htons(port);
	inet_pton(AF_INET, "192.0.2.1", &in.sin_addr);
	return in;
}

} // namespace

TEST(message, authentication)
{
	Message m;

	nlattr *nest = mnl_attr_nest_start(*m, RPCRDMA_A_CONN_AUTHENTICATION);
	mnl_attr_put_u32(*m, RPCRDMA_A_AUTHENTICATION_POLICY,
			 RPCRDMA_AUTH_POLICY_REQUIRED);
	mnl_attr_put_u32(*m, RPCRDMA_A_AUTHENTICATION_OUTCOME,
			 RPCRDMA_AUTH_OUTCOME_FAILED);
	mnl_attr_put_strz(*m, RPCRDMA_A_AUTHENTICATION_REASON, "no-key");
	mnl_attr_nest_end(*m, nest);
	EXPECT_EQ(m.read(kSetConn).at("authentication"),
		  Json({ { "policy", "required" },
			 { "outcome", "failed" },
			 { "reason", "no-key" } }));
}

TEST(message, extensions)
{
	Message m;

	mnl_attr_put_strz(*m, RPCRDMA_A_CONN_EXTENSION, "xcharext");
	mnl_attr_put_strz(*m, RPCRDMA_A_CONN_EXTENSION, "another");
	EXPECT_EQ(m.read(kSetConn).at("extension"),
		  Json({ "xcharext", "another" }));
}

TEST(message, authentication__of_a_network_namespace)
{
	Message m;

	mnl_attr_put_u32(*m, RPCRDMA_A_AUTH_SERVER_POLICY,
			 RPCRDMA_AUTH_POLICY_OFFERED);
	mnl_attr_put_u64(*m, RPCRDMA_A_AUTH_AUTHENTICATED, 7);
	nlattr *nest = mnl_attr_nest_start(*m, RPCRDMA_A_AUTH_REASON);
	mnl_attr_put_strz(*m, RPCRDMA_A_AUTH_COUNT_REASON, "missing");
	mnl_attr_put_u64(*m, RPCRDMA_A_AUTH_COUNT_WITHOUT, 2);
	mnl_attr_put_u64(*m, RPCRDMA_A_AUTH_COUNT_FAILED, 0);
	mnl_attr_nest_end(*m, nest);
	const Json auth = m.read(kSetAuth);
	EXPECT_EQ(auth.at("server-policy"), "offered");
	EXPECT_EQ(auth.at("authenticated"), 7);
	EXPECT_EQ(auth.at("reason").at(0).at("reason"), "missing");
	EXPECT_EQ(auth.at("reason").at(0).at("without"), 2);
}

TEST(message, connection)
{
	const sockaddr_in address = ipv4(20049);
	Message m;

	mnl_attr_put_u64(*m, RPCRDMA_A_CONN_ID, 1ULL << 40);
	mnl_attr_put_u32(*m, RPCRDMA_A_CONN_ROLE, RPCRDMA_CONN_ROLE_SERVER);
	mnl_attr_put(*m, RPCRDMA_A_CONN_PEER_ADDRESS, sizeof(address),
		     &address);
	mnl_attr_put_strz(*m, RPCRDMA_A_CONN_DEVICE, "rxe0");
	mnl_attr_put(*m, RPCRDMA_A_CONN_PAD, 0, nullptr);
	for (const std::uint32_t number : { 5U, 77U }) {
		nlattr *nest =
			mnl_attr_nest_start(*m, RPCRDMA_A_CONN_HEADER_TYPE);
		mnl_attr_put_u32(*m, RPCRDMA_A_COUNT_NUMBER, number);
		mnl_attr_put_u64(*m, RPCRDMA_A_COUNT_SENT, 3);
		mnl_attr_put_u64(*m, RPCRDMA_A_COUNT_RECEIVED, 0);
		mnl_attr_nest_end(*m, nest);
	}
	/* Of a newer module. */
	mnl_attr_put_u32(*m, RPCRDMA_A_CONN_MAX + 1, 1);

	Json conn = m.read(kSetConn);
	EXPECT_EQ(conn.at("id"), 1ULL << 40);
	EXPECT_EQ(conn.at("role"), "server");
	EXPECT_EQ(conn.at("peer-address"), "192.0.2.1:20049");
	EXPECT_EQ(conn.at("device"), "rxe0");
	EXPECT_EQ(conn.at("was-up"), false);
	EXPECT_EQ(conn.size(), 6U);

	name_numbers(conn,
		     { { "header-type",
			 { { { "number", 5 }, { "name", "GRANT" } } } } });
	EXPECT_EQ(conn.at("header-type").at(0).at("name"), "GRANT");
	EXPECT_EQ(conn.at("header-type").at(1).at("name"), "77");
	EXPECT_TRUE(conn.at("error").empty());
}

TEST(message, flags_are_true_or_false)
{
	Message m;

	mnl_attr_put_u32(*m, RPCRDMA_A_DEVICE_INDEX, 0);
	EXPECT_EQ(m.read(kSetDevice).at("iwarp"), false);
	mnl_attr_put(*m, RPCRDMA_A_DEVICE_IWARP, 0, nullptr);
	EXPECT_EQ(m.read(kSetDevice).at("iwarp"), true);
}

TEST(message, values_without_a_name_stay_numbers)
{
	Message m;

	mnl_attr_put_u32(*m, RPCRDMA_A_CONN_STATE, 99);
	EXPECT_EQ(m.read(kSetConn).at("state"), 99);
}

TEST(message, what_is_too_short_is_refused)
{
	Message id, address;

	mnl_attr_put_u32(*id, RPCRDMA_A_CONN_ID, 1);
	EXPECT_THROW((void)id.read(kSetConn), std::runtime_error);
	mnl_attr_put(*address, RPCRDMA_A_CONN_PEER_ADDRESS, 1, "");
	EXPECT_THROW((void)address.read(kSetConn), std::runtime_error);
}

/* Of our family, and of no other event of nlctrl. */
TEST(message, the_family_is_gone)
{
	Message gone, other, made, ours, empty;
	const auto put = [](Message &m, std::uint8_t command, std::uint16_t id) {
		(*m)->nlmsg_type = GENL_ID_CTRL;
		static_cast<genlmsghdr *>(mnl_nlmsg_get_payload(*m))->cmd =
			command;
		mnl_attr_put_strz(*m, CTRL_ATTR_FAMILY_NAME, "rpcrdma");
		mnl_attr_put_u16(*m, CTRL_ATTR_FAMILY_ID, id);
	};

	put(gone, CTRL_CMD_DELFAMILY, 40);
	put(other, CTRL_CMD_DELFAMILY, 41);
	put(made, CTRL_CMD_NEWFAMILY, 40);
	put(ours, CTRL_CMD_DELFAMILY, 40);
	(*ours)->nlmsg_type = 40;
	(*empty)->nlmsg_type = GENL_ID_CTRL;
	(*empty)->nlmsg_len = NLMSG_HDRLEN;
	EXPECT_TRUE(says_gone(**gone, 40));
	EXPECT_FALSE(says_gone(**other, 40));
	EXPECT_FALSE(says_gone(**made, 40));
	EXPECT_FALSE(says_gone(**ours, 40));
	EXPECT_FALSE(says_gone(**empty, 40));
}

TEST(message, addresses)
{
	sockaddr_in6 in6 = {};

	in6.sin6_family = AF_INET6;
	in6.sin6_port = htons(1);
	inet_pton(AF_INET6, "2001:db8::2", &in6.sin6_addr);
	EXPECT_EQ(address_text(std::as_bytes(std::span(&in6, 1))),
		  "[2001:db8::2]:1");
	EXPECT_THROW((void)address_text({}), std::runtime_error);
}

} // namespace rpcrdmactl
