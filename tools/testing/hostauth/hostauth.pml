/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Host authentication (Documentation/host-authentication.rst): some sessions of honest
 * hosts, and an attacker who is the network.
 *
 * Every step is one message that the attacker gives to one session. Its fields are
 * whatever the attacker can know. What the session then sends is known to the attacker
 * at once, and need not be modelled as a message: it is in the session's variables.
 * Dropping is not giving; repeating and reflecting is giving what another session, or
 * this one, has sent. A message that is wrong changes nothing, so it can be followed by
 * any other: a stronger attacker than one who ends the connection with it.
 *
 * Clients' first messages are known from the start: sending them depends on nothing.
 *
 * A proof is the tuple of what it covers, and is found by who made it and in which step.
 * Equal tuples are equal proofs, as for a MAC. A proof covers the proofs before it as
 * well; these are functions of the same fields, so nothing has to be compared for them.
 *
 * The environment says what to search:
 *	CLIENTS, SERVERS	how many sessions of each role (at most 3)
 *	KEYS			1 or 2 keys that both hosts have
 *	EVE			the attacker has a key of its own, which both hosts accept
 *	POLICY			also search policies; otherwise all is REQUIRED
 *	BUG			a mistake in the protocol, see below
 *	GOAL			a state that has to be reachable, see below
 */
c_decl {
	\#include <stdlib.h>
	\#include <string.h>

	static int given(const char *name, int otherwise)
	{
		const char *value = getenv(name);

		return value && *value ? atoi(value) : otherwise;
	}
}

#define MOST	3

/* Hosts, which are host identifiers. */
#define A	0
#define B	1

/* Names of keys: one that nobody has, one that the attacker has, too. */
#define UNKNOWN	0
#define KEY1	1
#define EVES	3

#define OFF	 0
#define OFFERED	 1
#define REQUIRED 2

/* A session: has sent its first message, or waits for it; is half-way; has ended well;
 * goes on without authentication. */
#define FIRST	0
#define HALF	1
#define DONE	2
#define PLAIN	3

/* Which proof. FORGED is what the attacker makes of its own key, NONE is garbage. */
#define NONE	0
#define FORGED	1
#define SERVER	2
#define CLIENT	3
#define FINAL	4

/* Mistakes. */
#define BUG_ROLE	 1	/* one key and one text for the proofs of both sides */
#define BUG_CLIENT_NONCE 2	/* no proof covers the client's nonce */
#define BUG_SERVER_NONCE 3	/* no proof covers the server's nonce */
#define BUG_PROPERTIES	 4	/* no proof covers the properties */
#define BUG_SELF	 5	/* a host does not look for itself */
#define BUG_STALE	 6	/* servers use one nonce again and again */
#define BUG_ORDER	 7	/* both sides' properties are covered as one set */
#define BUG_UNPROVED	 8	/* the server's FINAL has no proof */
#define BUG_VERSION	 9	/* a client falls back to version 1 in any case */
#define BUG_STRIPPED	10	/* a server that has sent CHALLENGE takes any FINAL */
#define BUG_DECOY	11	/* what is done for a name that is not known may succeed */
#define BUG_HOST	12	/* no proof covers the host identifiers */
#define BUG_CLIENT_STALE 13	/* clients use one nonce again and again */
#define BUG_KEY		14	/* any key of the host will do, whatever the name */
#define BUG_SERVES_1	15	/* a server speaks version 1 in any case */

/* Goals. */
#define GOAL_ALL_DONE	1
#define GOAL_PLAIN	2	/* both OFFERED, and the attacker has seen to it that it fails */
#define GOAL_CROSSED	3	/* client gave up waiting, server had already answered */
#define GOAL_BOTH_WAYS	4	/* A and B each as client of the other */

byte clients, servers, keys, bug, goal;
bool eve, policies;

/* Of clients: what they chose, and what they have been told. */
byte cl_state[MOST], cl_policy[MOST], cl_host[MOST], cl_key[MOST];
byte cl_nonce_s[MOST], cl_props_s[MOST], cl_host_s[MOST], cl_props_4[MOST];

/* Of servers. */
byte sv_state[MOST], sv_policy[MOST], sv_host[MOST];
byte sv_nonce_c[MOST], sv_props_c[MOST], sv_host_c[MOST], sv_key[MOST], sv_props_3[MOST];

/* All honest hosts send 0; 1 is what the attacker makes of it. */
#define OWN	0

/* Nonces: 0 is the attacker's. */
#define nonce_c(c)	(bug == BUG_CLIENT_STALE -> 1 : 1 + (c))
#define nonce_s(s)	(bug == BUG_STALE -> 1 + MOST : 1 + MOST + (s))

/* Of the message that is being made: all zero between steps. */
byte i, j, k, kind, nonce, props, host, key;
/* What the proof covers. */
byte t_kind, t_key, t_nc, t_pc, t_hc, t_ns, t_ps, t_hs, t_p3, t_p4;
byte found;
bool ok;

inline choose_client(x)
{
	x = 0;
	do
	:: x + 1 < clients -> x++
	:: break
	od
}

inline choose_server(x)
{
	x = 0;
	do
	:: x + 1 < servers -> x++
	:: break
	od
}

inline choose_bit(x)
{
	if
	:: x = 0
	:: x = 1
	fi
}

/* One that has been sent, or one of the attacker's own. */
inline choose_nonce()
{
	if
	:: nonce = 0
	:: choose_client(k); nonce = nonce_c(k)
	:: choose_server(k);
	   if
	   :: sv_nonce_c[k] != 255 -> nonce = nonce_s(k)
	   :: else
	   fi
	fi;
	k = 0
}

/* One that somebody has sent. What it covers goes to t_*. */
inline choose_proof()
{
	if
	:: kind = NONE
	:: eve -> kind = FORGED
	:: choose_server(j);
	   if
	   :: sv_nonce_c[j] != 255 ->
		t_key = sv_key[j];
		t_nc = sv_nonce_c[j]; t_pc = sv_props_c[j]; t_hc = sv_host_c[j];
		t_ns = nonce_s(j); t_ps = OWN; t_hs = sv_host[j];
		if
		:: kind = SERVER; t_p3 = 0
		:: sv_state[j] == DONE -> kind = FINAL; t_p3 = sv_props_3[j]; t_p4 = OWN
		fi
	   :: else
	   fi
	:: choose_client(j);
	   if
	   :: cl_state[j] == HALF || cl_state[j] == DONE ->
		kind = CLIENT;
		t_key = cl_key[j];
		t_nc = nonce_c(j); t_pc = OWN; t_hc = cl_host[j];
		t_ns = cl_nonce_s[j]; t_ps = cl_props_s[j]; t_hs = cl_host_s[j];
		t_p3 = OWN
	   :: else
	   fi
	fi
}

#define covers_pairs(nc, pc, hc, ns, ps, hs) ( \
	(t_nc == (nc) || bug == BUG_CLIENT_NONCE) && \
	(t_ns == (ns) || bug == BUG_SERVER_NONCE) && \
	((t_hc == (hc) && t_hs == (hs)) || bug == BUG_HOST) && \
	((t_pc == (pc) && t_ps == (ps)) || bug == BUG_PROPERTIES || \
	 (bug == BUG_ORDER && t_pc + t_ps == (pc) + (ps))))

/* The proof is that of the receiver's own view. */
#define proves(what, name, nc, pc, hc, ns, ps, hs, p3, p4) ( \
	(kind == FORGED && (name) == EVES) || \
	(kind != NONE && kind != FORGED && t_key != UNKNOWN && \
	 (t_key == (name) || bug == BUG_KEY) && \
	 (kind == (what) || (bug == BUG_ROLE && kind != FINAL && (what) != FINAL)) && \
	 covers_pairs(nc, pc, hc, ns, ps, hs) && \
	 (t_p3 == (p3) || bug == BUG_PROPERTIES || bug == BUG_ROLE) && \
	 (t_p4 == (p4) || bug == BUG_PROPERTIES)))

inline forget()
{
	kind = 0; nonce = 0; props = 0; host = 0; key = 0; i = 0; j = 0; k = 0;
	t_key = 0; t_nc = 0; t_pc = 0; t_hc = 0; t_ns = 0; t_ps = 0; t_hs = 0;
	t_p3 = 0; t_p4 = 0; found = 0; ok = false
}

/*
 * What a client may believe when it has completed: there is one server that has completed
 * with it, is another host, and sees all as the client does; and no other client has
 * completed with that server.
 */
inline check_client(c)
{
	found = 0;
	j = 0;
	do
	:: j < servers ->
		if
		:: sv_state[j] == DONE && sv_key[j] == cl_key[c] &&
		   sv_nonce_c[j] == nonce_c(c) && sv_props_c[j] == OWN &&
		   sv_host_c[j] == cl_host[c] && sv_props_3[j] == OWN &&
		   cl_nonce_s[c] == nonce_s(j) && cl_props_s[c] == OWN &&
		   cl_host_s[c] == sv_host[j] && cl_props_4[c] == OWN &&
		   sv_host[j] != cl_host[c] -> found++
		:: else
		fi;
		j++
	:: else -> break
	od;
	assert(found == 1);
	j = 0;
	do
	:: j < clients ->
		assert(j == c || cl_state[j] != DONE || cl_key[j] == EVES ||
		       cl_nonce_s[j] != cl_nonce_s[c]);
		j++
	:: else -> break
	od;
	j = 0
}

/* The same for a server. The client may not have completed yet, but has proved itself. */
inline check_server(s)
{
	found = 0;
	j = 0;
	do
	:: j < clients ->
		if
		:: (cl_state[j] == HALF || cl_state[j] == DONE) && cl_key[j] == sv_key[s] &&
		   sv_nonce_c[s] == nonce_c(j) && sv_props_c[s] == OWN &&
		   sv_host_c[s] == cl_host[j] && sv_props_3[s] == OWN &&
		   cl_nonce_s[j] == nonce_s(s) && cl_props_s[j] == OWN &&
		   cl_host_s[j] == sv_host[s] &&
		   cl_host[j] != sv_host[s] -> found++
		:: else
		fi;
		j++
	:: else -> break
	od;
	assert(found == 1);
	j = 0;
	do
	:: j < servers ->
		assert(j == s || sv_state[j] != DONE || sv_key[j] == EVES ||
		       sv_nonce_c[j] != sv_nonce_c[s]);
		j++
	:: else -> break
	od;
	j = 0
}

/* OPEN comes to a server, which sends CHALLENGE. */
inline open()
{
	choose_server(i);
	if
	:: sv_state[i] == FIRST && sv_policy[i] != OFF ->
		choose_nonce();
		choose_bit(props);
		choose_bit(host);
		if
		:: key = UNKNOWN
		:: key = KEY1
		:: keys > 1 -> key = KEY1 + 1
		:: eve -> key = EVES
		fi;
		if
		:: host != sv_host[i] || bug == BUG_SELF ->
			sv_nonce_c[i] = nonce;
			sv_props_c[i] = props;
			sv_host_c[i] = host;
			sv_key[i] = key;
			sv_state[i] = HALF;
			printf("server %d at host %d takes OPEN: host %d, nonce %d, properties %d, key %d\n",
			       i, sv_host[i], host, nonce, props, key)
		:: else
		fi
	:: else
	fi
}

/* CHALLENGE comes to a client, which sends PROVE. */
inline challenge()
{
	choose_client(i);
	if
	:: cl_state[i] == FIRST && cl_policy[i] != OFF ->
		choose_proof();
		if
		:: kind != NONE ->
			choose_nonce();
			choose_bit(props);
			choose_bit(host);
			ok = proves(SERVER, cl_key[i], nonce_c(i), OWN, cl_host[i],
				    nonce, props, host, 0, 0);
			if
			:: ok && (host != cl_host[i] || bug == BUG_SELF) ->
				cl_nonce_s[i] = nonce;
				cl_props_s[i] = props;
				cl_host_s[i] = host;
				cl_state[i] = HALF;
				printf("client %d at host %d takes CHALLENGE: host %d, nonce %d, properties %d, proof %d of %d\n",
				       i, cl_host[i], host, nonce, props, kind, j)
			:: else
			fi
		:: else
		fi
	:: else
	fi
}

/* PROVE comes to a server, which sends DONE and has completed. */
inline prove()
{
	choose_server(i);
	if
	:: sv_state[i] == HALF ->
		choose_proof();
		choose_bit(props);
		ok = proves(CLIENT, sv_key[i], sv_nonce_c[i], sv_props_c[i], sv_host_c[i],
			    nonce_s(i), OWN, sv_host[i], props, 0);
		if
		:: kind == NONE && (bug == BUG_STRIPPED ||
				    (bug == BUG_DECOY && sv_key[i] == UNKNOWN)) ->
			ok = true
		:: else
		fi;
		if
		:: ok ->
			sv_props_3[i] = props;
			sv_state[i] = DONE;
			printf("server %d at host %d takes PROVE: properties %d, proof %d of %d\n",
			       i, sv_host[i], props, kind, j);
			if
			:: sv_key[i] != EVES -> check_server(i)
			:: else
			fi
		:: else
		fi
	:: else
	fi
}

/* DONE comes to a client, which has completed. */
inline done()
{
	choose_client(i);
	if
	:: cl_state[i] == HALF ->
		choose_proof();
		choose_bit(props);
		ok = proves(FINAL, cl_key[i], nonce_c(i), OWN, cl_host[i],
			    cl_nonce_s[i], cl_props_s[i], cl_host_s[i], OWN, props);
		if
		:: bug == BUG_UNPROVED -> ok = true
		:: else
		fi;
		if
		:: ok ->
			cl_props_4[i] = props;
			cl_state[i] = DONE;
			printf("client %d at host %d takes DONE: properties %d, proof %d of %d\n",
			       i, cl_host[i], props, kind, j);
			if
			:: cl_key[i] != EVES -> check_client(i)
			:: else
			fi
		:: else
		fi
	:: else
	fi
}

/* No authentication: HOSTAUTH is not there, or nothing comes, or version 1 is spoken. */
inline without()
{
	if
	:: choose_client(i);
	   if
	   :: cl_state[i] == FIRST &&
	      (cl_policy[i] != REQUIRED || bug == BUG_VERSION) ->
		cl_state[i] = PLAIN;
		printf("client %d goes on without\n", i);
		assert(cl_policy[i] != REQUIRED)
	   :: else
	   fi
	:: choose_server(i);
	   if
	   :: (sv_state[i] == FIRST &&
	       (sv_policy[i] != REQUIRED || bug == BUG_SERVES_1)) ||
	      (sv_state[i] == HALF && (sv_policy[i] != REQUIRED || bug == BUG_STRIPPED)) ->
		sv_state[i] = PLAIN;
		printf("server %d goes on without\n", i);
		assert(sv_policy[i] != REQUIRED)
	   :: else
	   fi
	fi
}

inline check_goal()
{
	assert(goal != GOAL_ALL_DONE ||
	       !(cl_state[0] == DONE && sv_state[0] == DONE &&
		 (clients < 2 || cl_state[1] == DONE) &&
		 (servers < 2 || sv_state[1] == DONE)));
	assert(goal != GOAL_PLAIN ||
	       !(cl_policy[0] == OFFERED && sv_policy[0] == OFFERED &&
		 cl_state[0] == PLAIN && sv_state[0] == PLAIN));
	assert(goal != GOAL_CROSSED ||
	       !(cl_policy[0] == OFFERED && cl_state[0] == PLAIN &&
		 sv_policy[0] == REQUIRED && sv_state[0] == HALF &&
		 sv_nonce_c[0] == nonce_c(0)));
	assert(goal != GOAL_BOTH_WAYS ||
	       !(cl_state[0] == DONE && cl_state[1] == DONE && cl_host[0] != cl_host[1] &&
		 cl_key[0] != cl_key[1]))
}

inline choose_policy(p)
{
	p = REQUIRED;
	if
	:: policies -> p = OFF
	:: policies -> p = OFFERED
	:: true
	fi
}

/* The hosts are alike, and so are two keys: the first client is A, and has the first key. */
inline begin()
{
	c_code {
		now.clients = given("CLIENTS", 2);
		now.servers = given("SERVERS", 2);
		now.keys = given("KEYS", 1);
		now.eve = given("EVE", 0);
		now.policies = given("POLICY", 0);
		now.bug = given("BUG", 0);
		now.goal = given("GOAL", 0);
	};
	i = 0;
	do
	:: i < clients ->
		choose_policy(cl_policy[i]);
		cl_key[i] = KEY1;
		if
		:: i > 0 -> choose_bit(cl_host[i])
		:: else -> cl_host[i] = A
		fi;
		if
		:: i > 0 && keys > 1 -> cl_key[i] = KEY1 + 1
		:: i > 0 && eve -> cl_key[i] = EVES
		:: true
		fi;
		i++
	:: else -> break
	od;
	i = 0;
	do
	:: i < servers ->
		choose_policy(sv_policy[i]);
		sv_nonce_c[i] = 255;
		if
		:: sv_host[i] = A
		:: sv_host[i] = B
		fi;
		if
		:: i > 0 && !policies && sv_host[i - 1] > sv_host[i] -> sv_host[i] = B
		:: else
		fi;
		i++
	:: else -> break
	od;
	forget()
}

init {
	atomic { begin() };
end:	do
	:: atomic { open(); forget(); check_goal() }
	:: atomic { challenge(); forget(); check_goal() }
	:: atomic { prove(); forget(); check_goal() }
	:: atomic { done(); forget(); check_goal() }
	:: policies -> atomic { without(); forget(); check_goal() }
	od
}
