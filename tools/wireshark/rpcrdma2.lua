-- SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
--
-- Wireshark dissector of RPC-over-RDMA version 2 (draft-ietf-nfsv4-rpcrdma-version-two-07),
-- of its extensions xcharext (-02) and rtrext (-03), and of the private data by which peers
-- of versions 1 and 2 connect (RFC 8797): over RoCE, InfiniBand and iWARP. Version 1 is
-- left to Wireshark's own dissector. Documentation/wireshark.rst says how to use it.
--
-- For Wireshark 4.0 and later: copy this file to a folder that "Help > About Wireshark >
-- Folders" names for Lua plugins. D1 and so on are in Documentation/protocol-notes.rst.

local proto = Proto("rpcrdma2", "RPC-over-RDMA version 2")
local private = Proto("rpcrdma_cm", "RPC-over-RDMA private data")
local rpc_dissector = Dissector.get("rpc")

-- ---------------------------------------------------------------------------------------
-- Names and numbers
-- ---------------------------------------------------------------------------------------

local ERROR, GRANT, CONNPROP_MIDDLE, CONNPROP_FINAL = 4, 5, 6, 7
local CALL_EXTERNAL, CALL_MIDDLE, CALL_INLINE = 8, 9, 10
local REPLY_EXTERNAL, REPLY_MIDDLE, REPLY_INLINE = 11, 12, 13
-- Extensions: numbers of D8.
local INITXCH, REQXCH, RESPXCH, UPDXCH = 0xffffff01, 0xffffff02, 0xffffff03, 0xffffff04
local XMTREQ, XMTRESP, XMTCONT, REPTERR = 0xffffff05, 0xffffff06, 0xffffff07, 0xffffff08

local TYPE_NAMES = {
	[ERROR] = "ERROR", [GRANT] = "GRANT",
	[CONNPROP_MIDDLE] = "CONNPROP_MIDDLE", [CONNPROP_FINAL] = "CONNPROP_FINAL",
	[CALL_EXTERNAL] = "CALL_EXTERNAL", [CALL_MIDDLE] = "CALL_MIDDLE",
	[CALL_INLINE] = "CALL_INLINE", [REPLY_EXTERNAL] = "REPLY_EXTERNAL",
	[REPLY_MIDDLE] = "REPLY_MIDDLE", [REPLY_INLINE] = "REPLY_INLINE",
	[INITXCH] = "INITXCH", [REQXCH] = "REQXCH", [RESPXCH] = "RESPXCH",
	[UPDXCH] = "UPDXCH", [XMTREQ] = "XMTREQ", [XMTRESP] = "XMTRESP",
	[XMTCONT] = "XMTCONT", [REPTERR] = "REPTERR",
}

local ERRORS = {
	[1] = "VERS", [2] = "BAD_XDR", [3] = "BAD_PROPVAL", [4] = "INVAL_HTYPE",
	[5] = "INVAL_CONT", [6] = "READ_CHUNKS", [7] = "WRITE_CHUNKS", [8] = "SEGMENTS",
	[9] = "WRITE_RESOURCE", [10] = "REPLY_RESOURCE", [11] = "VERS_MISMATCH",
	[100] = "SYSTEM",
}

local REVERSE = { [0] = "NONE", [1] = "SIMPLE", [2] = "CONT", [3] = "GENL" }

local PLACEMENTS = {
	[1] = "EXRW", [2] = "TBSN", [3] = "CHOOSE", [4] = "BYSIZE", [5] = "TOOSHORT",
	[6] = "NOITEM",
}

local RTR_ERRORS = {
	[1] = "BADHMT", [2] = "BADOMT", [3] = "BADCONT", [4] = "BADSEQ", [5] = "BADXID",
	[6] = "BADOFF", [7] = "BADTBSN", [8] = "BADPL",
}

local DIRECTIONS = { [0] = "Call", [1] = "Reply" }

local SBSIZ, RBSIZ, RSSIZ, RCSIZ, BRS, HOSTAUTH = 1, 2, 3, 4, 5, 6
local EXTENSIONS, REQREMINV, RTRSUPP = 0xffffff01, 0xffffff02, 0xffffff03
local RBSTRUCT, REQRXLIM, RESPSXLIM = 0xffffff04, 0xffffff05, 0xffffff06

local PROPERTY_NAMES = {
	[SBSIZ] = "Maximum Send Size", [RBSIZ] = "Receive Buffer Size",
	[RSSIZ] = "Maximum Segment Size", [RCSIZ] = "Maximum Segment Count",
	[BRS] = "Reverse-Direction Support", [HOSTAUTH] = "Host Auth Message",
	[EXTENSIONS] = "Extensions", [REQREMINV] = "Requester Remote Invalidation",
	[RTRSUPP] = "RTR Support", [RBSTRUCT] = "Receive Buffer Structure",
	[REQRXLIM] = "Request Transmission Receive Limit",
	[RESPSXLIM] = "Response Transmission Send Limit",
}

-- Of a peer that has not said otherwise (section 5.2).
local DEFAULTS = {
	[SBSIZ] = 4096, [RBSIZ] = 4096, [RSSIZ] = 1048576, [RCSIZ] = 16, [BRS] = 0,
}

local NFS, READ3, READLINK3 = 100003, 6, 5
local OP_READ, OP_READLINK, OP_READ_PLUS = 25, 27, 68

local TWO_32 = 4294967296
local PREFIX = 16
-- Messages larger than this are not put together: a length may be any number.
local LARGEST = 8 * 1024 * 1024

-- ---------------------------------------------------------------------------------------
-- Fields
-- ---------------------------------------------------------------------------------------

local f = {
	xid = ProtoField.uint32("rpcrdma2.xid", "XID", base.HEX),
	vers = ProtoField.uint32("rpcrdma2.vers", "Version"),
	credit = ProtoField.uint32("rpcrdma2.credit", "Credit (received + window)"),
	htype = ProtoField.uint32("rpcrdma2.htype", "Header type", base.DEC, TYPE_NAMES),
	htype_hex = ProtoField.uint32("rpcrdma2.htype_hex", "Header type", base.HEX),

	sent = ProtoField.uint32("rpcrdma2.credits.sent", "Messages sent by this side"),
	limit = ProtoField.uint32("rpcrdma2.credits.limit", "May send up to this number"),
	left = ProtoField.int32("rpcrdma2.credits.left", "May still send"),
	window = ProtoField.uint32("rpcrdma2.credits.window",
		"Window that the peer offers"),
	outstanding = ProtoField.uint32("rpcrdma2.credits.outstanding",
		"Outstanding of that window"),
	offered = ProtoField.uint32("rpcrdma2.credits.offered",
		"Window that this side offers"),
	granted = ProtoField.int32("rpcrdma2.credits.granted", "Peer may still send"),

	dialect = ProtoField.string("rpcrdma2.dialect", "Dialect of 2016"),
	direction = ProtoField.uint32("rpcrdma2.dialect.direction", "Direction", base.DEC,
		DIRECTIONS),
	opttype = ProtoField.uint32("rpcrdma2.dialect.opttype", "Optional type"),
	optinfo = ProtoField.bytes("rpcrdma2.dialect.optinfo", "Optional information"),

	err = ProtoField.uint32("rpcrdma2.err", "Error", base.DEC, ERRORS),
	vers_low = ProtoField.uint32("rpcrdma2.vers_low", "Lowest version"),
	vers_high = ProtoField.uint32("rpcrdma2.vers_high", "Highest version"),
	max_chunks = ProtoField.uint32("rpcrdma2.max_chunks", "Most chunks"),
	max_segments = ProtoField.uint32("rpcrdma2.max_segments", "Most segments"),
	chunk_index = ProtoField.uint32("rpcrdma2.chunk_index", "Chunk (from one)"),
	length_needed = ProtoField.uint32("rpcrdma2.length_needed", "Length needed"),

	props = ProtoField.uint32("rpcrdma2.props", "Properties"),
	which = ProtoField.uint32("rpcrdma2.prop.which", "Property", base.HEX,
		PROPERTY_NAMES),
	prop_length = ProtoField.uint32("rpcrdma2.prop.length", "Length"),
	prop_data = ProtoField.bytes("rpcrdma2.prop.data", "Data"),
	sbsiz = ProtoField.uint32("rpcrdma2.prop.sbsiz", "Maximum Send Size"),
	rbsiz = ProtoField.uint32("rpcrdma2.prop.rbsiz", "Receive Buffer Size"),
	rssiz = ProtoField.uint32("rpcrdma2.prop.rssiz", "Maximum Segment Size"),
	rcsiz = ProtoField.uint32("rpcrdma2.prop.rcsiz", "Maximum Segment Count"),
	brs = ProtoField.uint32("rpcrdma2.prop.brs", "Reverse-Direction Support", base.DEC,
		REVERSE),
	hostauth = ProtoField.bytes("rpcrdma2.prop.hostauth", "Host Auth Message"),
	extensions = ProtoField.uint32("rpcrdma2.prop.extensions", "Extensions", base.HEX),
	ext_xchar = ProtoField.bool("rpcrdma2.prop.extensions.xcharext",
		"xcharext: INITXCH, REQXCH, RESPXCH, UPDXCH", 32, nil, 0x1),
	reqreminv = ProtoField.bool("rpcrdma2.prop.reqreminv",
		"Requester Remote Invalidation"),
	rtrsupp = ProtoField.uint32("rpcrdma2.prop.rtrsupp", "RTR Support", base.HEX),
	rtrs_xreq = ProtoField.bool("rpcrdma2.prop.rtrsupp.xreq", "XMTREQ", 32, nil, 0x1),
	rtrs_xresp = ProtoField.bool("rpcrdma2.prop.rtrsupp.xresp", "XMTRESP", 32, nil, 0x2),
	rtrs_xcont = ProtoField.bool("rpcrdma2.prop.rtrsupp.xcont", "XMTCONT", 32, nil, 0x4),
	rbs_length = ProtoField.uint32("rpcrdma2.prop.rbstruct.length", "Buffer length"),
	rbs_groups = ProtoField.uint32("rpcrdma2.prop.rbstruct.groups", "Groups"),
	rbs_count = ProtoField.uint32("rpcrdma2.prop.rbstruct.count", "Segments like this"),
	rbs_seg_length = ProtoField.uint32("rpcrdma2.prop.rbstruct.seg.length", "Length"),
	rbs_seg_align = ProtoField.uint32("rpcrdma2.prop.rbstruct.seg.align", "Alignment"),
	rbs_seg_flags = ProtoField.uint32("rpcrdma2.prop.rbstruct.seg.flags", "Flags",
		base.HEX),
	rbs_seg_plt = ProtoField.bool("rpcrdma2.prop.rbstruct.seg.plt",
		"Target of data placement", 32, nil, 0x1),
	reqrxlim = ProtoField.uint32("rpcrdma2.prop.reqrxlim",
		"Request Transmission Receive Limit"),
	respsxlim = ProtoField.uint32("rpcrdma2.prop.respsxlim",
		"Response Transmission Send Limit"),

	inv_handle = ProtoField.uint32("rpcrdma2.inv_handle", "Handle to invalidate",
		base.HEX),
	remaining = ProtoField.uint32("rpcrdma2.remaining", "Remaining"),
	call = ProtoField.uint32("rpcrdma2.call", "Call chunk, segments"),
	reads = ProtoField.uint32("rpcrdma2.reads", "Read list, segments"),
	writes = ProtoField.uint32("rpcrdma2.writes", "Write list, chunks"),
	reply = ProtoField.bool("rpcrdma2.reply", "Reply chunk"),
	chunk_length = ProtoField.uint64("rpcrdma2.chunk_length", "Length of the chunk"),
	segment_count = ProtoField.uint32("rpcrdma2.segment_count", "Segments"),
	position = ProtoField.uint32("rpcrdma2.position", "Position"),
	handle = ProtoField.uint32("rpcrdma2.handle", "Handle", base.HEX),
	length = ProtoField.uint32("rpcrdma2.length", "Length"),
	offset = ProtoField.uint64("rpcrdma2.offset", "Offset", base.HEX),
	payload = ProtoField.uint32("rpcrdma2.payload", "Payload"),

	-- xcharext
	nochg = ProtoField.uint32("rpcrdma2.xch.nochg", "Will not change", base.HEX),
	done = ProtoField.uint32("rpcrdma2.xch.done", "Done", base.HEX),
	rej = ProtoField.uint32("rpcrdma2.xch.rej", "Rejected", base.HEX),
	pend = ProtoField.uint32("rpcrdma2.xch.pend", "Pending", base.HEX),
	pendclr = ProtoField.bool("rpcrdma2.xch.pendclr", "No longer pending"),

	-- rtrext
	dp = ProtoField.uint32("rpcrdma2.rtr.dp", "Placed items"),
	mi_disp = ProtoField.uint32("rpcrdma2.rtr.disp", "Displacement"),
	mi_length = ProtoField.uint32("rpcrdma2.rtr.length", "Length"),
	mi_type = ProtoField.uint32("rpcrdma2.rtr.type", "Placement", base.DEC, PLACEMENTS),
	tb_offset = ProtoField.uint32("rpcrdma2.rtr.offset", "Offset in the first segment"),
	tb_count = ProtoField.uint32("rpcrdma2.rtr.bsnums", "Buffer segments"),
	tb_number = ProtoField.uint32("rpcrdma2.rtr.bsnum", "Buffer segment"),
	rsd = ProtoField.uint32("rpcrdma2.rtr.rsd", "Directions for the Reply"),
	rsd_begin = ProtoField.uint32("rpcrdma2.rtr.begin", "From"),
	rsd_end = ProtoField.uint32("rpcrdma2.rtr.end", "To"),
	rsd_items = ProtoField.uint32("rpcrdma2.rtr.items", "Items"),
	rsd_minlen = ProtoField.uint32("rpcrdma2.rtr.minlen", "Least length"),
	rsd_dsdov = ProtoField.uint32("rpcrdma2.rtr.dsdov", "Explicit RDMA from this size"),
	count = ProtoField.uint32("rpcrdma2.rtr.count", "Transmissions in the group"),
	rsbuf = ProtoField.uint32("rpcrdma2.rtr.rsbuf", "Most transmissions of the Reply"),
	pslen = ProtoField.uint32("rpcrdma2.rtr.pslen", "Length of the payload"),
	xnum = ProtoField.uint32("rpcrdma2.rtr.xnum", "Transmission number"),
	itype = ProtoField.uint32("rpcrdma2.rtr.itype", "The group began with", base.DEC,
		TYPE_NAMES),
	id_xid = ProtoField.uint32("rpcrdma2.rtr.id.xid", "XID", base.HEX),
	id_dir = ProtoField.uint32("rpcrdma2.rtr.id.dir", "Direction", base.DEC, DIRECTIONS),
	id_seq = ProtoField.uint32("rpcrdma2.rtr.id.seq", "Transmission number"),
	lead = ProtoField.bool("rpcrdma2.rtr.lead", "An earlier transmission led to it"),
	rtr_err = ProtoField.uint32("rpcrdma2.rtr.err", "Error", base.DEC, RTR_ERRORS),
	expect = ProtoField.uint32("rpcrdma2.rtr.expect", "Expected"),
	current = ProtoField.uint32("rpcrdma2.rtr.current", "Found"),
	value = ProtoField.uint32("rpcrdma2.rtr.value", "Value"),
	least = ProtoField.uint32("rpcrdma2.rtr.min", "Least"),
	most = ProtoField.uint32("rpcrdma2.rtr.max", "Most"),

	-- What other frames have to do with this one.
	fragment = ProtoField.framenum("rpcrdma2.fragment", "Part in frame", base.NONE),
	whole_in = ProtoField.framenum("rpcrdma2.reassembled_in", "Whole message in frame",
		base.NONE),
	whole_length = ProtoField.uint32("rpcrdma2.reassembled_length",
		"Length of the RPC message"),
	request_in = ProtoField.framenum("rpcrdma2.request_in", "Answers frame", base.NONE,
		frametype.REQUEST),
	response_in = ProtoField.framenum("rpcrdma2.response_in", "Answered in frame",
		base.NONE, frametype.RESPONSE),
	invalidated = ProtoField.uint32("rpcrdma2.invalidated", "Invalidates the handle",
		base.HEX),
	time = ProtoField.relative_time("rpcrdma2.time", "Time since that frame"),
	again_of = ProtoField.framenum("rpcrdma2.again_of", "Same as frame", base.NONE,
		frametype.DUP_ACK),
	rdma = ProtoField.string("rpcrdma2.rdma", "RDMA operation"),
	data_in = ProtoField.framenum("rpcrdma2.data_in", "Data in frame", base.NONE),
	chunk_of = ProtoField.framenum("rpcrdma2.chunk_of", "Chunk of the Call in frame",
		base.NONE),
	stream = ProtoField.uint32("rpcrdma2.stream", "Connection"),
	reverse = ProtoField.bool("rpcrdma2.reverse", "Reverse direction"),
}
proto.fields = f

local p = {
	magic = ProtoField.uint32("rpcrdma_cm.magic", "Magic number", base.HEX),
	version = ProtoField.uint8("rpcrdma_cm.version", "Format"),
	flags = ProtoField.uint8("rpcrdma_cm.flags", "Flags", base.HEX),
	invalidate = ProtoField.bool("rpcrdma_cm.flags.invalidate",
		"Send With Invalidate is welcome", 8, nil, 0x01),
	version2 = ProtoField.bool("rpcrdma_cm.flags.version2",
		"Speaks RPC-over-RDMA version 2", 8, nil, 0x80),
	send = ProtoField.uint32("rpcrdma_cm.send", "Largest Send of version 1"),
	receive = ProtoField.uint32("rpcrdma_cm.receive", "Receive buffers of version 1"),
}
private.fields = p

local meanings = {}

local function expert_item(name, text, of, severity)
	local item = ProtoExpert.new("rpcrdma2.expert." .. name, text, of, severity)
	meanings[item] = text
	return item
end

local function violation(name, text, severity)
	return expert_item(name, text, expert.group.PROTOCOL, severity or expert.severity.ERROR)
end

local function remark(name, text, severity)
	return expert_item(name, text, expert.group.SEQUENCE, severity or expert.severity.NOTE)
end

local e = {
	bad_xdr = expert_item("bad_xdr", "The header is not valid XDR", expert.group.MALFORMED,
		expert.severity.ERROR),
	short = violation("short", "Shorter than a header prefix: it is dropped"),
	version = violation("version", "Unknown version"),
	version_mismatch = violation("version_mismatch", "Not the connection's version"),
	htype = violation("htype", "Undefined header type"),
	dialect = violation("dialect", "Dialect of 2016, not version 2"),
	continuation = violation("continuation", "Bad sequence of continued messages"),
	overrun = violation("overrun", "More messages than credits"),
	credit_limit = violation("credit_limit", "No possible credit limit"),
	chunks = violation("chunks", "Chunk lists that contradict the draft"),
	xid = violation("xid", "XID of the header and of the RPC message differ"),
	direction = violation("direction", "Header type and RPC message differ in direction"),
	propval = violation("propval", "The value of a property has not its XDR type"),
	unknown_error = violation("unknown_error", "Unknown error code: it is dropped",
		expert.severity.WARN),
	invalidation = violation("invalidation", "Invalidates what it must not"),
	too_long = violation("too_long", "Larger than the peer's Receive buffers"),
	refused = expert_item("refused", "The peer refuses a message",
		expert.group.RESPONSE_CODE, expert.severity.WARN),
	again = remark("again", "The same Call again", expert.severity.WARN),
	unmatched = remark("unmatched", "The capture has no message that it answers"),
	no_answer = remark("no_answer", "The capture has no answer to it",
		expert.severity.WARN),
	last_credit = remark("last_credit", "Uses the last credit"),
	taken_back = remark("taken_back", "Takes credit back"),
	repeated = remark("repeated", "Sent again by RDMA"),
	lost = remark("lost", "Packets before this one are not in the capture"),
	cut = remark("cut", "The capture has only a part of this message"),
	zeros = remark("zeros", "Data that are not at hand are shown as zeros"),
	reduced = remark("reduced", "RPC message without what went by chunks"),
}
proto.experts = e

proto.prefs.keep_data = Pref.bool("Keep the data of chunks", true,
	"To show them in RPC messages; without, zeros stand for them. Takes as much memory as " ..
	"the capture has data of chunks.")
proto.prefs.iwarp_port = Pref.uint("iWARP port", 20049,
	"TCP port of NFS over iWARP")

-- Of the packet at hand, if there is a tree.
local in_packet = {
	opcode = Field.new("infiniband.bth.opcode"),
	queue_pair = Field.new("infiniband.bth.destqp"),
	psn = Field.new("infiniband.bth.psn"),
	pad = Field.new("infiniband.bth.padcnt"),
	key = Field.new("infiniband.reth.r_key"),
	address = Field.new("infiniband.reth.va"),
	dma_length = Field.new("infiniband.reth.dmalen"),
	rdmap_opcode = Field.new("iwarp_rdma.opcode"),
	last = Field.new("iwarp_ddp.last_flag"),
	msn = Field.new("iwarp_ddp.msn"),
	invalidate = Field.new("infiniband.ieth"),
	message_offset = Field.new("iwarp_ddp.mo"),
	tag = Field.new("iwarp_ddp.stag"),
	tagged_offset = Field.new("iwarp_ddp.tagged_offset"),
	sink_tag = Field.new("iwarp_rdma.sinkstag"),
	sink_offset = Field.new("iwarp_rdma.sinkto"),
	read_size = Field.new("iwarp_rdma.rdmardsz"),
	source_tag = Field.new("iwarp_rdma.srcstag"),
	source_offset = Field.new("iwarp_rdma.srcto"),
	mpa_private = Field.new("iwarp_mpa.privatedata"),
	request_id = Field.new("infiniband.cm.req"),
	request_qp = Field.new("infiniband.cm.req.localqpn"),
	reply_to = Field.new("infiniband.cm.rep.remotecommid"),
	reply_qp = Field.new("infiniband.cm.rep.localqpn"),
}

-- ---------------------------------------------------------------------------------------
-- State of all connections of the capture
-- ---------------------------------------------------------------------------------------

local flows, by_addresses, records, mpa_connections, streams, requests

local function forget()
	flows = {}		-- each direction of a connection, by its addresses and port
	by_addresses = {}	-- lists of these, by addresses alone
	records = {}		-- what was found out about each message
	mpa_connections = {}
	streams = 0
	requests = {}		-- of the communication manager, by communication ID
end
proto.init = forget
forget()

-- a - b of numbers that go round.
local function distance(a, b, size)
	local d = (a - b) % size
	return d < size / 2 and d or d - size
end

local function signed32(a, b)
	return distance(a, b, TWO_32)
end

local function new_flow(key, addresses, queue_pair)
	local flow = {
		key = key, addresses = addresses, queue_pair = queue_pair, calls = {}, others = {},
		memory = {}, reads = {}, properties = {}, grants = {}, known = false, sure = false,
	}
	flows[key] = flow
	by_addresses[addresses] = by_addresses[addresses] or {}
	table.insert(by_addresses[addresses], flow)
	return flow
end

local function find_flow(packet)
	return flows[packet.flow] or
		new_flow(packet.flow, packet.addresses, packet.queue_pair)
end

local function join(a, b, sure)
	for _, one in ipairs { a, b } do
		if one.peer then
			one.peer.peer = nil
			one.peer.sure = false
		end
	end
	a.peer, b.peer = b, a
	a.sure, b.sure = sure, sure
	if not a.stream and not b.stream then
		a.stream = streams
		streams = streams + 1
	end
	a.stream = a.stream or b.stream
	b.stream = a.stream
end

local function opposite(addresses)
	local from, to = addresses:match("^(.*) > (.*)$")
	return to .. " > " .. from
end

-- The other direction of the connection, if it has what is looked for.
local function find_peer(flow, fits)
	if flow.peer and (flow.sure or fits(flow.peer)) then
		return flow.peer
	end
	for _, other in ipairs(by_addresses[opposite(flow.addresses)] or {}) do
		if not other.sure and fits(other) then
			join(flow, other, true)
			return other
		end
	end
	return flow.peer
end

-- If there is only one that it can be.
local function guess_peer(flow)
	local found
	if flow.peer then
		return
	end
	for _, other in ipairs(by_addresses[opposite(flow.addresses)] or {}) do
		if not other.peer and other.version2 then
			if found then
				return
			end
			found = other
		end
	end
	if found then
		join(flow, found, false)
	end
end

-- ---------------------------------------------------------------------------------------
-- Decoding: headers to trees, and to tables
-- ---------------------------------------------------------------------------------------

local TYPES, fault, octets, total, decode, check_lists, is_dialect
-- In blocks, since Lua allows 200 local names in one place.
do

local SHORT = {}

local Reader = {}
Reader.__index = Reader

local function new_reader(tvb, at, stop, m)
	return setmetatable({ tvb = tvb, at = at, stop = stop, m = m }, Reader)
end

function Reader:left()
	return self.stop - self.at
end

-- The rest cannot be decoded.
function Reader:fail(text)
	self.m.broken = text
	error(SHORT)
end

function Reader:need(octets)
	if self:left() < octets then
		self:fail("ends too soon")
	end
end

function Reader:peek()
	self:need(4)
	return self.tvb(self.at, 4):uint()
end

function Reader:word(tree, field)
	local value = self:peek()
	local item = tree:add(field, self.tvb(self.at, 4))
	self.at = self.at + 4
	return value, item
end

-- An XDR bool.
function Reader:boolean(tree, field)
	local value = self:peek()
	if value > 1 then
		self:fail("neither true nor false")
	end
	if field then
		tree:add(field, self.tvb(self.at, 4), value == 1)
	end
	self.at = self.at + 4
	return value == 1
end

function fault(m, item, which, text)
	item:add_proto_expert_info(which, text)
	m.faults[#m.faults + 1] = text
end

-- Wraps what @decode reads in an item of its own.
local function group(r, tree, text, decode)
	local from = r.at
	local item = tree:add(proto, r.tvb(from, r.stop - from), text)
	item:set_text(text)
	item:set_len(0)
	local result = decode(item)
	item:set_len(r.at - from)
	return result, item
end

function octets(n)
	return n == 1 and "1 octet" or string.format("%d octets", n)
end

local function segment(r, tree, positioned)
	return (group(r, tree, "Segment", function(item)
		local s = {}
		if positioned then
			s.position = r:word(item, f.position)
		end
		s.handle = r:word(item, f.handle)
		s.length = r:word(item, f.length)
		r:need(8)
		s.offset = r.tvb(r.at, 8):uint64()
		item:add(f.offset, r.tvb(r.at, 8))
		r.at = r.at + 8
		item:append_text(string.format(": handle 0x%08x, %s%s", s.handle,
			octets(s.length),
			positioned and string.format(", position %d", s.position) or ""))
		return s
	end))
end

function total(segments)
	local sum = 0
	for _, s in ipairs(segments) do
		sum = sum + s.length
	end
	return sum
end

local function add_all(to, more)
	for _, item in ipairs(more) do
		to[#to + 1] = item
	end
end

local function read_list(r, tree, field, title)
	local list, item = group(r, tree, title, function(sub)
		local all = {}
		while r:boolean() do
			all[#all + 1] = segment(r, sub, true)
		end
		sub:add(field, #all):set_generated()
		return all
	end)
	if #list > 0 then
		item:append_text(string.format(": %d segment%s, %s", #list,
			#list == 1 and "" or "s", octets(total(list))))
	else
		item:append_text(": empty")
	end
	return list, item
end

local function segments(r, tree)
	local all = {}
	local count, item = r:word(tree, f.segment_count)
	if count * 16 > r:left() then
		item:append_text(" (more than there is room for)")
		r:fail("ends too soon")
	end
	for i = 1, count do
		all[i] = segment(r, tree)
	end
	return all
end

local function write_chunk(r, tree, title)
	local list, item = group(r, tree, title, function(sub)
		return segments(r, sub)
	end)
	item:add(f.chunk_length, UInt64(total(list))):set_generated()
	item:append_text(#list == 0 and ": empty" or string.format(": %d segment%s, %s", #list,
		#list == 1 and "" or "s", octets(total(list))))
	return list
end

local function write_list(r, tree, title)
	local list, item = group(r, tree, title, function(sub)
		local all = {}
		while r:boolean() do
			all[#all + 1] = write_chunk(r, sub,
				string.format("Write chunk %d", #all + 1))
		end
		sub:add(f.writes, #all):set_generated()
		return all
	end)
	item:append_text(#list == 0 and ": empty" or
		string.format(": %d chunk%s", #list, #list == 1 and "" or "s"))
	return list
end

local function reply_chunk(r, tree)
	if r:boolean(tree, f.reply) then
		return write_chunk(r, tree, "Reply chunk")
	end
end

-- Transport properties -----------------------------------------------------------------

local function number_property(field)
	return function(r, tree)
		return (r:word(tree, field))
	end
end

local function flags_property(field, ...)
	local flags = { ... }
	return function(r, tree)
		local at = r.at
		local value, item = r:word(tree, field)
		for _, flag in ipairs(flags) do
			item:add(flag, r.tvb(at, 4))
		end
		return value
	end
end

local function opaque(r, tree, field)
	local length = r:peek()
	r.at = r.at + 4
	local padded = length + (4 - length % 4) % 4
	r:need(padded)
	if length > 0 then
		tree:add(field, r.tvb(r.at, length))
	end
	r.at = r.at + padded
	return length
end

local function opaque_property(r, tree)
	return opaque(r, tree, f.hostauth)
end

-- A receiver's buffer: a list of { length, target }, one for each segment.
local function buffer_structure(r, tree)
	local structure = {}
	structure.length = r:word(tree, f.rbs_length)
	local groups = r:word(tree, f.rbs_groups)
	for number = 1, groups do
		group(r, tree, string.format("Group %d", number), function(item)
			local count = r:word(item, f.rbs_count)
			local length = r:word(item, f.rbs_seg_length)
			r:word(item, f.rbs_seg_align)
			local at = r.at
			local flags, sub = r:word(item, f.rbs_seg_flags)
			sub:add(f.rbs_seg_plt, r.tvb(at, 4))
			item:append_text(string.format(": %d of %s%s", count, octets(length),
				flags % 2 == 1 and ", for placed data" or ""))
			-- A peer can say anything; no buffer has that many.
			for _ = 1, math.min(count, 256 - #structure) do
				structure[#structure + 1] = {
					length = length, target = flags % 2 == 1,
				}
			end
		end)
	end
	return structure
end

local PROPERTIES = {
	[SBSIZ] = number_property(f.sbsiz),
	[RBSIZ] = number_property(f.rbsiz),
	[RSSIZ] = number_property(f.rssiz),
	[RCSIZ] = number_property(f.rcsiz),
	[BRS] = number_property(f.brs),
	[HOSTAUTH] = opaque_property,
	[EXTENSIONS] = flags_property(f.extensions, f.ext_xchar),
	[REQREMINV] = function(r, tree)
		return r:boolean(tree, f.reqreminv)
	end,
	[RTRSUPP] = flags_property(f.rtrsupp, f.rtrs_xreq, f.rtrs_xresp, f.rtrs_xcont),
	[RBSTRUCT] = buffer_structure,
	[REQRXLIM] = number_property(f.reqrxlim),
	[RESPSXLIM] = number_property(f.respsxlim),
}

local SHORT_NAMES = {
	[SBSIZ] = "send", [RBSIZ] = "receive", [RSSIZ] = "segment", [RCSIZ] = "segments",
	[BRS] = "reverse", [HOSTAUTH] = "hostauth", [EXTENSIONS] = "extensions",
	[REQREMINV] = "reqreminv", [RTRSUPP] = "rtr", [RBSTRUCT] = "buffers",
	[REQRXLIM] = "reqrxlim", [RESPSXLIM] = "respsxlim",
}

local function property_text(which, value)
	local name = SHORT_NAMES[which]
	if value == nil then
		return name .. " default"
	elseif which == BRS then
		return name .. " " .. (REVERSE[value] or tostring(value))
	elseif which == HOSTAUTH then
		return string.format("%s (%s)", name, octets(value))
	elseif type(value) == "table" then
		return string.format("%s (%d segments)", name, #value)
	end
	return name .. " " .. tostring(value)
end

local function property(r, tree)
	local m = r.m
	local which, length, value
	local _, item = group(r, tree, "Property", function(sub)
		which = r:word(sub, f.which)
		sub:set_text(PROPERTY_NAMES[which] or
			string.format("Unknown property 0x%08x", which))
		length = r:word(sub, f.prop_length)
		local padded = length + (4 - length % 4) % 4
		if padded > r:left() then
			fault(m, sub, e.propval, string.format(
				"property 0x%x is longer than its message", which))
			m.broken = ""
			error(SHORT)
		end
		local decode = PROPERTIES[which]
		if decode and length > 0 then
			local inner = new_reader(r.tvb, r.at, r.at + length, m)
			local ok, why = pcall(function()
				value = decode(inner, sub)
			end)
			if not ok and why ~= SHORT then
				error(why, 0)
			end
			if not ok or inner.at ~= r.at + length then
				m.broken = nil
				fault(m, sub, e.propval, string.format(
					"bad value of property %s", SHORT_NAMES[which]))
			end
		elseif length > 0 then
			sub:add(f.prop_data, r.tvb(r.at, length))
		else
			sub:append_text(" (default)")
		end
		r.at = r.at + padded
	end)
	if type(value) == "number" then
		item:append_text(": " .. (which == BRS and REVERSE[value] or
			string.format("%d", value)))
	end
	if which and SHORT_NAMES[which] then
		m.properties[#m.properties + 1] = { which = which, value = value }
		m.summary[#m.summary + 1] = property_text(which, value)
	else
		m.summary[#m.summary + 1] = string.format("0x%08x?", which)
	end
end

local function property_set(r, tree)
	local count = r:word(tree, f.props)
	for _ = 1, count do
		property(r, tree)
	end
end

local function nothing_follows(r, tree)
	if r:left() > 0 then
		fault(r.m, tree, e.bad_xdr,
			string.format("%s too many at the end", octets(r:left())))
	end
end

-- The header types ---------------------------------------------------------------------

local function error_arm(r, tree, code)
	local words = {
		[1] = { f.vers_low, f.vers_high }, [6] = { f.max_chunks }, [7] = { f.max_chunks },
		[8] = { f.max_segments }, [9] = { f.chunk_index, f.length_needed },
		[10] = { f.length_needed },
	}
	local arm = {}
	for i, field in ipairs(words[code] or {}) do
		arm[i] = r:word(tree, field)
	end
	return arm
end

local ERROR_TEXTS = {
	[1] = "speaks versions %d to %d", [6] = "takes %d Read chunks",
	[7] = "takes %d Write chunks", [8] = "takes %d segments",
	[9] = "chunk %d needs %d octets", [10] = "the Reply needs %d octets",
}

local function decode_error(r, tree, m)
	local code, item = r:word(tree, f.err)
	m.err = code
	local name = ERRORS[code]
	if not name then
		item:add_proto_expert_info(e.unknown_error)
		m.summary[1] = string.format("unknown error %d", code)
		r.at = r.stop
		return
	end
	local arm = error_arm(r, tree, code)
	m.summary[1] = ERROR_TEXTS[code] and
		string.format("%s: " .. ERROR_TEXTS[code], name, arm[1], arm[2]) or name
	m.arm = arm
	tree:add_proto_expert_info(e.refused, m.summary[1])
	nothing_follows(r, tree)
end

local function decode_connprop(r, tree)
	property_set(r, tree)
	nothing_follows(r, tree)
end

local function payload(r, tree, m, length)
	m.payload_at, m.payload_length = r.at, length
	if length == 0 then
		return
	end
	local item = tree:add(f.payload, r.tvb(r.at, length), length)
	item:append_text(" octets")
	r.at = r.at + length
	if length % 4 ~= 0 then
		fault(m, item, e.bad_xdr, "a payload is a multiple of four octets")
	end
end

local function inline_payload(r, tree, m)
	if m.size == r.at then
		fault(m, tree, e.bad_xdr, "no payload")
	end
	if m.cut then
		m.payload_at, m.payload_length = r.at, m.size - r.at
		tree:add_proto_expert_info(e.cut)
		return
	end
	payload(r, tree, m, r:left())
end

local function decode_middle(r, tree, m)
	m.remaining = r:word(tree, f.remaining)
	inline_payload(r, tree, m)
end

local function call_lists(r, tree, m)
	m.reads, m.reads_item = read_list(r, tree, f.reads, "Read list")
	m.writes = write_list(r, tree, "Provisional Write list")
	m.reply = reply_chunk(r, tree)
end

local function decode_call_external(r, tree, m)
	m.inv_handle, m.inv_item = r:word(tree, f.inv_handle)
	local item
	m.call, item = read_list(r, tree, f.call, "Call chunk")
	if #m.call == 0 then
		fault(m, item, e.chunks, "no Call chunk")
	end
	for _, s in ipairs(m.call) do
		if s.position ~= 0 then
			fault(m, item, e.chunks, "a Call chunk that is not in position zero")
			break
		end
	end
	call_lists(r, tree, m)
	nothing_follows(r, tree)
end

local function decode_call_inline(r, tree, m)
	m.inv_handle, m.inv_item = r:word(tree, f.inv_handle)
	call_lists(r, tree, m)
	inline_payload(r, tree, m)
end

local function decode_reply_external(r, tree, m)
	m.writes = write_list(r, tree, "Write list")
	m.reply = reply_chunk(r, tree)
	if not m.reply then
		fault(m, tree, e.chunks, "no Reply chunk")
	end
	nothing_follows(r, tree)
end

local function decode_reply_inline(r, tree, m)
	m.writes = write_list(r, tree, "Write list")
	inline_payload(r, tree, m)
end

-- xcharext: which properties, by their place in a set.
local function subset(r, tree, field, m)
	local words = r:peek()
	r.at = r.at + 4
	if words * 4 > r:left() then
		r:fail("ends too soon")
	end
	local places = {}
	for word = 0, words - 1 do
		local mask = r:word(tree, field)
		for bit = 0, 31 do
			if math.floor(mask / 2 ^ bit) % 2 == 1 then
				places[#places + 1] = word * 32 + bit
			end
		end
	end
	m.subsets[#m.subsets + 1] = #places
	return places
end

local function decode_initxch(r, tree, m)
	property_set(r, tree)
	subset(r, tree, f.nochg, m)
	nothing_follows(r, tree)
end

local function decode_respxch(r, tree, m)
	subset(r, tree, f.done, m)
	subset(r, tree, f.rej, m)
	subset(r, tree, f.pend, m)
	m.summary[1] = string.format("%d done, %d rejected, %d pending", m.subsets[1],
		m.subsets[2], m.subsets[3])
	nothing_follows(r, tree)
end

local function decode_updxch(r, tree, m)
	property(r, tree)
	if r:boolean(tree, f.pendclr) then
		m.summary[#m.summary + 1] = "no longer pending"
	end
	nothing_follows(r, tree)
end

-- rtrext
local function placement_type(r, tree, ...)
	local kind = r:word(tree, f.mi_type)
	for _, valid in ipairs { ... } do
		if kind == valid then
			return kind
		end
	end
	r:fail(string.format("placement %s cannot be here", PLACEMENTS[kind] or tostring(kind)))
end

local function placed_items(r, tree, m)
	return (group(r, tree, "Placed items", function(list)
		local items = {}
		local count = r:word(list, f.dp)
		for number = 1, count do
			group(r, list, string.format("Item %d", number), function(sub)
				local item = {}
				item.position = r:word(sub, f.mi_disp)
				item.length = r:word(sub, f.mi_length)
				item.kind = placement_type(r, sub, 1, 2, 5, 6)
				if item.kind == 1 then
					item.segments = segments(r, sub)
				elseif item.kind == 2 then
					item.offset = r:word(sub, f.tb_offset)
					local numbers = r:word(sub, f.tb_count)
					if numbers * 4 > r:left() then
						r:fail("ends too soon")
					end
					item.numbers = {}
					for i = 1, numbers do
						item.numbers[i] = r:word(sub, f.tb_number)
					end
				end
				sub:append_text(string.format(": %s, %s at %d",
					PLACEMENTS[item.kind], octets(item.length),
					item.position))
				items[#items + 1] = item
				m.summary[#m.summary + 1] = string.format("%s %d",
					PLACEMENTS[item.kind], item.length)
			end)
		end
		return items
	end))
end

local function reply_directions(r, tree, m)
	group(r, tree, "Directions for the Reply", function(list)
		local sets = r:word(list, f.rsd)
		for number = 1, sets do
			group(r, list, string.format("Set %d", number), function(set)
				r:word(set, f.rsd_begin)
				r:word(set, f.rsd_end)
				local count = r:word(set, f.rsd_items)
				for i = 1, count do
					local _, item = group(r, set,
						string.format("Item %d", i), function(sub)
						r:word(sub, f.rsd_minlen)
						local kind = placement_type(r, sub, 1, 2, 3, 4)
						sub:append_text(": " .. PLACEMENTS[kind])
						m.summary[#m.summary + 1] = "reply " ..
							PLACEMENTS[kind]
						if kind == 4 then
							r:word(sub, f.rsd_dsdov)
						end
						if kind ~= 2 then
							add_all(m.directed, segments(r, sub))
						end
					end)
				end
			end)
		end
	end)
end

local function decode_xmtreq(r, tree, m)
	m.items = placed_items(r, tree, m)
	reply_directions(r, tree, m)
	m.count = r:word(tree, f.count)
	r:word(tree, f.rsbuf)
	m.pslen = r:word(tree, f.pslen)
	r:need(m.pslen)
	payload(r, tree, m, m.pslen)
end

local function decode_xmtresp(r, tree, m)
	m.items = placed_items(r, tree, m)
	m.count = r:word(tree, f.count)
	m.pslen = r:word(tree, f.pslen)
	r:need(m.pslen)
	payload(r, tree, m, m.pslen)
end

local function decode_xmtcont(r, tree, m)
	m.xnum = r:word(tree, f.xnum)
	m.itype = r:word(tree, f.itype)
	m.pslen = r:word(tree, f.pslen)
	m.summary[1] = string.format("transmission %d", m.xnum)
	r:need(m.pslen)
	payload(r, tree, m, m.pslen)
end

local function transmission_id(r, tree, title)
	return (group(r, tree, title, function(item)
		local id = {}
		id.xid = r:word(item, f.id_xid)
		id.dir = r:word(item, f.id_dir)
		id.seq = r:word(item, f.id_seq)
		item:append_text(string.format(": %s 0x%08x, transmission %d",
			DIRECTIONS[id.dir] or "?", id.xid, id.seq))
		return id
	end))
end

local function decode_repterr(r, tree, m)
	m.bad = transmission_id(r, tree, "Bad transmission")
	if r:boolean(tree, f.lead) then
		transmission_id(r, tree, "Transmission that led to it")
	end
	local code = r:word(tree, f.rtr_err)
	local name = RTR_ERRORS[code]
	if not name then
		r:fail("unknown error")
	end
	m.summary[1] = name
	if code == 1 or code == 2 or code == 4 or code == 5 then
		local expected = r:word(tree, f.expect)
		m.summary[1] = string.format("%s: expected %d, found %d", name, expected,
			(r:word(tree, f.current)))
	elseif code > 5 then
		local value = r:word(tree, f.value)
		local least = r:word(tree, f.least)
		m.summary[1] = string.format("%s: %d, may be %d to %d", name, value, least,
			(r:word(tree, f.most)))
	end
	tree:add_proto_expert_info(e.refused, m.summary[1])
	nothing_follows(r, tree)
end

TYPES = {
	[ERROR] = { decode = decode_error },
	[GRANT] = { decode = nothing_follows },
	[CONNPROP_MIDDLE] = { decode = decode_connprop, kind = "connprop" },
	[CONNPROP_FINAL] = { decode = decode_connprop, kind = "connprop", last = true },
	[CALL_EXTERNAL] = { decode = decode_call_external, kind = "call", last = true },
	[CALL_MIDDLE] = { decode = decode_middle, kind = "call" },
	[CALL_INLINE] = { decode = decode_call_inline, kind = "call", last = true },
	[REPLY_EXTERNAL] = { decode = decode_reply_external, kind = "reply", last = true },
	[REPLY_MIDDLE] = { decode = decode_middle, kind = "reply" },
	[REPLY_INLINE] = { decode = decode_reply_inline, kind = "reply", last = true },
	[INITXCH] = { decode = decode_initxch },
	[REQXCH] = { decode = decode_connprop },
	[RESPXCH] = { decode = decode_respxch },
	[UPDXCH] = { decode = decode_updxch },
	[XMTREQ] = { decode = decode_xmtreq, kind = "call", group = true },
	[XMTRESP] = { decode = decode_xmtresp, kind = "reply", group = true },
	[XMTCONT] = { decode = decode_xmtcont, group = true },
	[REPTERR] = { decode = decode_repterr },
}

-- The dialect of 2016, draft-cel-nfsv4-rpcrdma-version-two-01, that says that it is
-- version 2. A list of it is not kept: it is for no RDMA of version 2.
local function decode_msg_2016(r, tree, m)
	read_list(r, tree, f.reads, "Read list")
	write_list(r, tree, "Write list")
	reply_chunk(r, tree)
	if m.htype == 0 then
		inline_payload(r, tree, m)
	else
		nothing_follows(r, tree)
	end
end

local function decode_optional_2016(r, tree, m)
	r:word(tree, f.opttype)
	opaque(r, tree, f.optinfo)
	if r:left() > 0 then
		payload(r, tree, m, r:left())
	end
end

local DIALECT = {
	[0] = { name = "RDMA2_MSG", decode = decode_msg_2016 },
	[1] = { name = "RDMA2_NOMSG", decode = decode_msg_2016 },
	-- GRANT has this number, and no body.
	[GRANT] = { name = "RDMA2_OPTIONAL", decode = decode_optional_2016 },
}

-- Such a message may be one of the dialect, as far as its first words tell.
function is_dialect(tvb)
	if tvb:len() < PREFIX + 4 or tvb(4, 4):uint() ~= 2 or tvb(16, 4):uint() > 1 then
		return false
	end
	local proc = tvb(12, 4):uint()
	if proc == GRANT then
		local head = PREFIX + 12
		return tvb:len() >= head and tvb(24, 4):uint() <= tvb:reported_len() - head
	end
	return DIALECT[proc] ~= nil
end

local function decode_dialect(r, tree, m)
	tree:add(f.dialect, m.name):set_generated()
	local direction = r:word(tree, f.direction)
	m.summary[1] = DIRECTIONS[direction] or "?"
	DIALECT[m.htype].decode(r, tree, m)
end

-- What a header says about itself that cannot be. @length: of the Payload stream, if known
function check_lists(m, length)
	local known = not m.inv_handle or m.inv_handle == 0
	for _, s in ipairs(m.all_segments) do
		known = known or s.handle == m.inv_handle
	end
	if not known then
		fault(m, m.inv_item, e.chunks, "a handle to invalidate that is not in the header")
	end
	local before = 0
	for _, s in ipairs(m.reads or {}) do
		local wrong = s.position % 4 ~= 0 and "a Position that is no multiple of four" or
			s.position < before and "Positions in the Read list go down" or
			s.position == 0 and "a Position-zero chunk in the Read list"
		if wrong then
			fault(m, m.reads_item, e.chunks, wrong)
			return
		end
		before = s.position
	end
	-- Each is inside the message, as far as that is put together by then.
	for _, s in ipairs(length and m.reads or {}) do
		if s.position > length then
			fault(m, m.reads_item, e.chunks, string.format(
				"Position %d is behind the end of the message", s.position))
			return
		end
		length = length + s.length
	end
end

-- The message in @tvb, in @tree, as a table. @missing: octets that the capture does not have.
-- @dialect: it is one of the dialect of 2016
function decode(tvb, tree, missing, dialect)
	local size = tvb:len()
	missing = missing or tvb:reported_len() - size
	local m = {
		tvb = tvb, size = size + missing, cut = missing > 0, faults = {},
		summary = {}, properties = {}, subsets = {}, directed = {}, all_segments = {},
	}
	m.xid = tvb(0, 4):uint()
	m.vers = tvb(4, 4):uint()
	m.credit = tvb(8, 4):uint()
	m.htype = tvb(12, 4):uint()
	m.name = TYPE_NAMES[m.htype] or string.format("type %d", m.htype)
	m.type = TYPES[m.htype] or {}
	if dialect then
		m.dialect, m.name, m.type = true, DIALECT[m.htype].name, {}
	end
	tree:add(f.xid, tvb(0, 4))
	local version = tree:add(f.vers, tvb(4, 4))
	m.credit_item = tree:add(f.credit, tvb(8, 4))
	local htype = tree:add(f.htype, tvb(12, 4))
	tree:append_text(string.format(", %s, XID 0x%08x", m.name, m.xid))
	if m.vers ~= 2 then
		fault(m, version, m.vers == 1 and e.version_mismatch or e.version,
			string.format("version %d on a connection of version 2", m.vers))
		return m
	end
	if dialect then
		fault(m, htype, e.dialect, "dialect of 2016")
	elseif not m.type.decode then
		fault(m, htype, e.htype, string.format("undefined header type %d", m.htype))
		return m
	end
	local r = new_reader(tvb, PREFIX, size, m)
	local ok, why = pcall(dialect and decode_dialect or m.type.decode, r, tree, m)
	if not ok and why ~= SHORT then
		error(why, 0)
	end
	if not ok and m.cut then
		tree:add_proto_expert_info(e.cut)
	elseif not ok and m.broken ~= "" then
		fault(m, tree, e.bad_xdr, "bad XDR: " .. (m.broken or "?"))
	end
	m.whole = ok and not m.cut
	add_all(m.all_segments, m.call or {})
	add_all(m.all_segments, m.reads or {})
	for _, chunk in ipairs(m.writes or {}) do
		add_all(m.all_segments, chunk)
	end
	add_all(m.all_segments, m.reply or {})
	return m
end

end

-- ---------------------------------------------------------------------------------------
-- Sequences: what one message has to do with others. Each message is looked at once, in
-- the order of the capture; what was found is kept in its record.
-- ---------------------------------------------------------------------------------------

local note, analyse
do

function note(record, which, text, brief)
	table.insert(record.notes, { which = which, text = text })
	if brief then
		table.insert(record.brief, brief)
	end
end

local function property_of(flow, which)
	local value = flow and flow.properties[which]
	return value == nil and DEFAULTS[which] or value
end

-- Credits (section 4.2.1, D1 to D3). What a side has sent is known from the beginning of its
-- connection on, until packets of it are not in the capture.
local function count_message(m, record, flow)
	local peer = flow.peer
	if not flow.known then
		return
	end
	flow.sent = (flow.sent or 0) + 1
	if m.err == 1 then
		-- A server of version 1 counts nothing.
		return
	end
	local c = record.credits
	local limit, most = 1, 1
	if peer and peer.limit then
		limit, most = peer.limit, peer.most
	end
	c.sent = flow.sent
	c.limit = limit
	c.left = signed32(limit, flow.sent)
	if not (peer and peer.limit) or peer.window then
		c.window = peer and peer.window or 1
		c.outstanding = math.max(0, c.window - c.left)
	end
	local over = signed32(flow.sent, most)
	if over > (m.htype == GRANT and 1 or 0) then
		note(record, e.overrun, string.format(
			"message %d of this side, which may send %d", flow.sent, most),
			"credit overrun")
	elseif over == 0 and m.htype ~= GRANT and peer and peer.limit then
		note(record, e.last_credit)
	end
end

-- What a message allows its receiver.
local function take_limit(m, record, flow)
	local peer = flow.peer
	local c = record.credits
	if m.vers ~= 2 or m.err == 1 then
		return
	end
	if not peer or peer.known then
		local sent = peer and peer.sent or 0
		local granted = signed32(m.credit, sent)
		if granted >= 0x7ffffffe or granted < -math.max(sent, 1) then
			note(record, e.credit_limit, string.format(
				"the peer has sent %d messages", sent), "impossible credit")
			return
		end
		c.granted = granted
		-- Messages may be on their way, so the window is at least what is left of it.
		-- The largest of late is near the truth, and follows a window that shrinks.
		table.insert(flow.grants, granted)
		if #flow.grants > 128 then
			table.remove(flow.grants, 1)
		end
		flow.window = 0
		for _, one in ipairs(flow.grants) do
			flow.window = math.max(flow.window, one)
		end
		c.offered = flow.window
	end
	if flow.limit and signed32(m.credit, flow.limit) < 0 then
		note(record, e.taken_back, string.format("the limit was %d", flow.limit))
	end
	flow.limit = m.credit
	if not flow.most or signed32(m.credit, flow.most) > 0 then
		flow.most = m.credit
	end
end

-- Parts of one RPC message, or the CONNPROP messages of one exchange (D7).
local function continue(m, record, flow)
	local kind = m.type.kind
	local open = flow.open
	if not kind or m.type.group then
		if m.htype == GRANT or m.htype == ERROR or not open or m.type.group then
			return
		end
	end
	local broken
	if open and (kind ~= open.kind or open.xid and open.xid ~= m.xid) then
		broken = string.format("frame %d began a %s that this does not go on with",
			open.frames[1], open.kind == "connprop" and "set of properties" or
			"message")
	elseif kind == "connprop" and flow.final then
		broken = string.format("after the CONNPROP_FINAL in frame %d", flow.final)
	elseif open and open.remaining and m.payload_length and
	    m.payload_length + (m.remaining or 0) ~= open.remaining then
		broken = string.format("%s were to come, not %d", octets(open.remaining),
			m.payload_length + (m.remaining or 0))
	elseif m.remaining == 0 then
		broken = "nothing remains, but this is not the last part"
	end
	if broken then
		note(record, e.continuation, broken, "bad continuation")
		if open then
			open.broken = true
		end
		flow.open = nil
		open = nil
		if kind == "connprop" and flow.final then
			return
		end
	end
	if kind == "connprop" then
		if m.type.last then
			flow.final = record.frame
			flow.open = nil
		else
			flow.open = open or { kind = kind, frames = {} }
			table.insert(flow.open.frames, record.frame)
		end
		return
	end
	if not kind or m.type.group then
		return
	end
	if m.type.last and not open then
		return
	end
	open = open or { kind = kind, xid = m.xid, frames = {}, parts = {}, length = 0 }
	table.insert(open.frames, record.frame)
	open.length = open.length + (m.payload_length or 0)
	if open.length <= LARGEST and record.payload then
		table.insert(open.parts, record.payload)
	else
		open.parts = nil
	end
	open.remaining = m.remaining
	record.message = open
	flow.open = open
	if m.type.last then
		open.whole = record.frame
		flow.open = nil
	end
end

-- The transmissions of a group of rtrext (D20).
local function gather_group(m, record, flow)
	local g = flow.group
	if m.htype ~= XMTCONT then
		if g then
			note(record, e.continuation, string.format(
				"the group that frame %d began is not complete", g.frames[1]),
				"bad continuation")
			g.broken = true
		end
		g = {
			kind = m.type.kind, xid = m.xid, frames = {}, parts = {}, length = 0,
			count = m.count or 1, items = m.items or {}, buffers = {},
			began = m.htype,
		}
	elseif not g then
		note(record, e.continuation, "no group is under way", "bad continuation")
		return
	elseif g.xid ~= m.xid or m.itype ~= g.began or
	    g.number and m.xnum and m.xnum ~= g.number + 1 then
		note(record, e.continuation, string.format(
			"not the next transmission of the group that frame %d began", g.frames[1]),
			"bad continuation")
		g.broken = true
		flow.group = nil
		return
	end
	g.number = m.xnum or g.number
	table.insert(g.frames, record.frame)
	g.length = g.length + (m.payload_length or 0)
	table.insert(g.buffers, record.whole_message)
	if g.length <= LARGEST then
		if record.payload then
			table.insert(g.parts, record.payload)
		end
	else
		g.parts = nil
	end
	record.message = g
	record.group = true
	if #g.frames >= g.count then
		g.whole = record.frame
		flow.group = nil
	else
		flow.group = g
	end
end

-- Memory that a Call lets its Responder read and write.
local function expose(flow, call, list, kind)
	for _, s in ipairs(list or {}) do
		local region = {
			handle = s.handle, offset = s.offset, length = s.length, kind = kind,
			call = call, parts = {}, got = 0, frames = {},
		}
		flow.memory[s.handle] = region
		table.insert(call.regions, region)
		call.by_handle[s.handle] = region
	end
end

local function note_call(m, record, flow)
	local message = record.message
	local call = flow.calls[m.xid]
	if call and message and call.message == message then
		record.call = call
	else
		if call and not call.answer and not (call.message and call.message.broken) then
			note(record, e.again, string.format(
				"frame %d has the same Call, which is not answered", call.frame),
				"Call again")
			record.again_of = call.frame
		elseif call and call.refused then
			record.again_of = call.frame
		end
		call = {
			frame = record.frame, time = record.time, message = message, regions = {},
			by_handle = {}, xid = m.xid,
		}
		flow.calls[m.xid] = call
		record.call = call
	end
	expose(flow, call, m.call, "Call chunk")
	expose(flow, call, m.reads, "Read chunk")
	for _, item in ipairs(m.items or {}) do
		expose(flow, call, item.segments, "Read chunk")
	end
	for _, chunk in ipairs(m.writes or {}) do
		expose(flow, call, chunk, "Write chunk")
	end
	expose(flow, call, m.reply, "Reply chunk")
	expose(flow, call, m.directed, "Write chunk")
	call.inv_handle = m.inv_handle or call.inv_handle
	if m.call and #m.call > 0 then
		call.chunk = m.call
	end
	call.reads = m.reads
	local words = record.first_words
	if words and not call.program then
		call.program, call.version, call.procedure = words[4], words[5], words[6]
	end
end

local function answer(m, record, flow, call)
	record.request = call
	record.request_frame = call.frame
	record.delay = record.time - call.time
	if m.type.last or m.htype == ERROR or m.htype == REPTERR or m.htype == RESPXCH or
	    record.message and record.message.whole == record.frame then
		call.answer = call.answer or record.frame
		call.refused = m.htype == ERROR or m.htype == REPTERR
	end
end

local function note_answer(m, record, flow)
	local function has(kind)
		return function(peer)
			return peer[kind][m.xid] ~= nil
		end
	end
	local kinds = m.htype == ERROR and { "calls", "others" } or
		m.htype == RESPXCH and { "others" } or { "calls" }
	for _, kind in ipairs(kinds) do
		local peer = find_peer(flow, has(kind))
		local found = peer and peer[kind][m.xid]
		if found then
			answer(m, record, flow, found)
			return
		end
	end
	-- An ERROR may be about a Reply (D6), and a REPTERR, too.
	if flow.peer and m.htype ~= REPLY_MIDDLE then
		local found = (m.htype == ERROR or m.htype == REPTERR) and
			flow.peer.replies and flow.peer.replies[m.xid]
		if found then
			record.request_frame = found.frame
			record.delay = record.time - found.time
			return
		end
	end
	note(record, e.unmatched)
end

local function check_sizes(m, record, flow)
	local peer = flow.peer
	local most = flow.first == record.frame and 1024 or property_of(peer, RBSIZ)
	if type(most) == "number" and m.size > most and (flow.first == record.frame or
	    peer and peer.final) then
		note(record, e.too_long, string.format("%s, and the buffers have %d",
			octets(m.size), most), "too long")
	end
	local count = property_of(peer, RCSIZ)
	if peer and peer.final and m.type.kind == "call" and #m.all_segments > count then
		note(record, e.chunks, string.format("%d segments, and the peer takes %d",
			#m.all_segments, count), "too many segments")
	end
	local size = property_of(peer, RSSIZ)
	for _, s in ipairs(peer and peer.final and m.type.kind == "call" and
		m.all_segments or {}) do
		if s.length > size then
			note(record, e.chunks, string.format(
				"a segment of %s, and the peer takes %d", octets(s.length), size),
				"segment too large")
			break
		end
	end
end

-- The first words of an RPC message, if this is its beginning.
local function check_rpc(m, record)
	local words = record.first_words
	local kind = m.type.kind
	local message = record.message
	if not words or #words < 2 or not kind or message and message.frames[1] ~= record.frame then
		return
	end
	if words[1] ~= m.xid then
		note(record, e.xid, string.format("that of the RPC message is 0x%08x", words[1]),
			"XIDs differ")
	elseif words[2] ~= (kind == "call" and 0 or 1) then
		note(record, e.direction, nil, "wrong direction")
	end
end

-- An ERROR may come back about it.
local function note_other(m, record, flow)
	record.other = {
		frame = record.frame, time = record.time, regions = {}, by_handle = {},
	}
	flow.others[m.xid] = record.other
end

function analyse(m, record, flow)
	if not flow.first then
		flow.first = record.frame
		guess_peer(flow)
		local peer = flow.peer
		flow.known = flow.known or m.type.kind == "connprop" and
			(not peer or peer.known or not peer.first)
		-- The client begins; a server may answer with any message.
		if not flow.role and peer and peer.known then
			flow.known = true
			flow.role = "server"
		end
		flow.role = flow.role or "client"
		if peer and not peer.first then
			peer.known = peer.known or flow.known
			peer.role = "server"
		end
	end
	flow.version2 = true
	guess_peer(flow)
	if m.dialect then
		-- It counts nothing, and what comes back is about it.
		record.credits = {}
		note_other(m, record, flow)
		return
	end
	if m.vers == 2 and m.type.decode and not (m.htype == ERROR and m.err == 1) then
		flow.agreed = true
	end
	record.credits = {}
	count_message(m, record, flow)
	take_limit(m, record, flow)
	if m.vers ~= 2 or not m.type.decode then
		return
	end
	check_sizes(m, record, flow)
	if m.type.group then
		gather_group(m, record, flow)
	else
		if flow.group and m.htype ~= GRANT and m.htype ~= ERROR then
			note(record, e.continuation, string.format(
				"the group that frame %d began is not complete",
				flow.group.frames[1]), "bad continuation")
			flow.group = nil
		end
		continue(m, record, flow)
	end
	check_rpc(m, record)
	local kind = m.type.kind or record.group and record.message.kind
	if kind == "call" then
		note_call(m, record, flow)
	elseif kind == "reply" then
		flow.replies = flow.replies or {}
		flow.replies[m.xid] = { frame = record.frame, time = record.time }
		note_answer(m, record, flow)
	elseif m.htype == ERROR or m.htype == RESPXCH or m.htype == REPTERR then
		note_answer(m, record, flow)
	elseif m.htype ~= GRANT then
		note_other(m, record, flow)
	end
	if kind == "connprop" or m.htype == INITXCH or m.htype == UPDXCH then
		for _, property_value in ipairs(m.properties) do
			local value = property_value.value
			if value == nil then
				value = DEFAULTS[property_value.which]
			end
			flow.properties[property_value.which] = value
		end
	end
	-- Only a Reply invalidates, and only what its Call has offered (section 6.5).
	if record.invalidated and (kind ~= "reply" or record.request and
	    record.request.inv_handle ~= record.invalidated) then
		note(record, e.invalidation, kind == "reply" and string.format(
			"its Call offers handle 0x%08x", record.request.inv_handle or 0) or
			"this is no Reply", "bad invalidation")
	end
	record.structure = property_of(flow.peer, RBSTRUCT)
	record.role = flow.role
end

end

-- ---------------------------------------------------------------------------------------
-- Data that go by RDMA Read and RDMA Write
-- ---------------------------------------------------------------------------------------

local region_at, take_data, data_of, word_at, rpc_message
do

local function zeros(count)
	return ByteArray.new(string.rep("\0", count), true)
end

-- The region that has these octets: of a Call that went the other way.
function region_at(flow, handle, offset)
	local function fits(peer)
		local region = peer.memory[handle]
		if not region or offset < region.offset then
			return false
		end
		local at = (offset - region.offset):tonumber()
		return at <= region.length and at
	end
	local peer = find_peer(flow, fits)
	local at = peer and fits(peer)
	if at then
		return peer.memory[handle], at
	end
end

function take_data(region, at, tvb, record)
	local data = tvb:range():bytes()
	record.region = region
	record.length = data:len()
	table.insert(region.frames, record.frame)
	if proto.prefs.keep_data and region.got < region.length then
		table.insert(region.parts, { at = at, data = data })
	end
	region.got = region.got + data:len()
end

-- All octets of these segments, as far as they are known; and whether they all are.
function data_of(call, list)
	local data, all = ByteArray.new(), true
	for _, s in ipairs(list) do
		local region = call and call.by_handle[s.handle]
		local at = 0
		local parts = region and region.parts or {}
		table.sort(parts, function(a, b)
			return a.at < b.at
		end)
		for _, part in ipairs(parts) do
			local there = part.data
			local skip = at - part.at
			if skip < 0 then
				all = false
				if part.at <= s.length then
					data:append(zeros(part.at - at))
					at = part.at
				end
				skip = 0
			end
			local use = math.min(there:len() - skip, s.length - at)
			if use > 0 and part.at <= at then
				data:append(use == there:len() and there or
					there:subset(skip, use))
				at = at + use
			end
		end
		if at < s.length then
			all = false
			data:append(zeros(s.length - at))
		end
	end
	return data, all
end

-- Put items back into a stream: a list of { position, data }, in ascending order.
local function put_back(stream, items)
	local whole = ByteArray.new()
	local from = 0
	for _, item in ipairs(items) do
		local length = math.max(0, math.min(stream:len() - from,
			item.position - whole:len()))
		if length > 0 then
			whole:append(stream:subset(from, length))
		end
		from = from + length
		whole:append(item.data)
		if item.data:len() % 4 ~= 0 then
			whole:append(zeros(4 - item.data:len() % 4))
		end
	end
	if from < stream:len() then
		whole:append(stream:subset(from, stream:len() - from))
	end
	return whole
end

function word_at(bytes, index)
	local a, b, c, d = bytes:raw(index * 4, 4):byte(1, 4)
	return ((a * 256 + b) * 256 + c) * 256 + d
end

-- Where in a Reply an item of @length octets was taken out: behind its length, which stays.
-- The binding of NFS names the results that this may be.
local function result_place(call, stream, from, length)
	local words = math.floor(stream:len() / 4)
	local function is(index, ...)
		for i, value in ipairs { ... } do
			local at = index - i
			if at < 0 or value ~= true and word_at(stream, at) ~= value then
				return false
			end
		end
		return true
	end
	local found
	if call.program ~= NFS then
		return nil
	end
	for i = math.floor(from / 4), words - 1 do
		if word_at(stream, i) == length then
			if call.version == 4 and (is(i, true, 0, OP_READ) or
			    is(i, 0, OP_READLINK) or
			    is(i, true, true, 0, true, true, 0, OP_READ_PLUS)) then
				return (i + 1) * 4
			elseif call.version == 3 and call.procedure == READ3 and
			    is(i, true, length) then
				return (i + 1) * 4
			elseif call.version < 4 and (call.procedure == READLINK3 or
			    call.version == 2 and call.procedure == READ3) then
				found = (i + 1) * 4
			end
		end
	end
	return found
end

-- The items of a Reply's Write chunks. Without nil all have found their place.
local function result_items(call, stream, writes)
	local items, all, from, added = {}, true, 0, 0
	for _, chunk in ipairs(writes) do
		local length = total(chunk)
		if length > 0 then
			local place = length <= LARGEST and
				result_place(call, stream, from, length)
			if not place then
				return nil, false
			end
			local data, complete = data_of(call, chunk)
			all = all and complete
			items[#items + 1] = { position = place + added, data = data }
			added = added + length + (4 - length % 4) % 4
			from = place
		end
	end
	return items, all
end

-- An item that is in the buffer segments of the transmissions of its group.
local function targeted_data(g, structure, item)
	local data = ByteArray.new()
	local targets, at = {}, 0
	if type(structure) ~= "table" then
		return zeros(item.length), false
	end
	for _, s in ipairs(structure) do
		if s.target then
			targets[#targets + 1] = { at = at, length = s.length }
		end
		at = at + s.length
	end
	for i, number in ipairs(item.numbers) do
		local buffer = #targets > 0 and g.buffers[math.floor(number / #targets) + 1]
		local target = #targets > 0 and targets[number % #targets + 1]
		local skip = i == 1 and item.offset or 0
		if buffer and target and skip < target.length then
			local from = target.at + skip
			local use = math.min(target.length - skip, item.length - data:len(),
				buffer:len() - from)
			if use > 0 then
				data:append(buffer:subset(from, use))
			end
		end
	end
	local all = data:len() == item.length
	if not all then
		data:append(zeros(item.length - data:len()))
	end
	return data, all
end

local function sum_of(items)
	local sum = 0
	for _, item in ipairs(items) do
		sum = sum + item.length
	end
	return sum
end

-- What to hand to the dissector of RPC: the octets; whether these are the whole message;
-- and whether all of them are the right ones.
function rpc_message(m, record)
	local message = record.message
	local stream
	if m.payload_length and m.payload_length > 0 and not message then
		stream = m.tvb(m.payload_at, m.payload_length):bytes()
	end
	if message or record.group then
		if not message or message.whole ~= record.frame or not message.parts then
			return nil
		end
		stream = ByteArray.new()
		for _, part in ipairs(message.parts) do
			stream:append(part)
		end
	end
	if m.htype == REPLY_EXTERNAL then
		stream = ByteArray.new()
		if m.reply and total(m.reply) <= LARGEST then
			local complete
			stream, complete = data_of(record.request, m.reply)
			if not complete then
				return nil
			end
		end
	end
	if not stream or stream:len() == 0 then
		return nil
	end
	local items, complete = {}, true
	if record.group then
		if sum_of(message.items) > LARGEST then
			return stream, false, true
		end
		local call = record.call or record.request
		for _, item in ipairs(message.items) do
			local data, all
			if item.kind == 1 then
				if total(item.segments) > LARGEST then
					return stream, false, true
				end
				data, all = data_of(call, item.segments)
				if data:len() > item.length then
					data = data:subset(0, item.length)
				end
			elseif item.kind == 2 then
				data, all = targeted_data(message, record.structure, item)
			end
			if data then
				complete = complete and all
				items[#items + 1] = { position = item.position, data = data }
			end
		end
	elseif m.type.kind == "call" and m.reads and #m.reads > 0 then
		if total(m.reads) > LARGEST then
			return stream, false, true
		end
		local at = 1
		while at <= #m.reads do
			local chunk = {}
			local position = m.reads[at].position
			while m.reads[at] and m.reads[at].position == position do
				chunk[#chunk + 1] = m.reads[at]
				at = at + 1
			end
			local data, all = data_of(record.call, chunk)
			complete = complete and all
			items[#items + 1] = { position = position, data = data }
		end
	elseif m.type.kind == "reply" and m.writes and record.request then
		local found, all = result_items(record.request, stream, m.writes)
		if not found then
			return stream, false, true
		end
		items, complete = found, all
	end
	return #items > 0 and put_back(stream, items) or stream, true, complete
end

end

-- ---------------------------------------------------------------------------------------
-- What is shown
-- ---------------------------------------------------------------------------------------

local function append_info(pinfo, text)
	pinfo.cols.info:append(" " .. text)
end

local frames_of, hand_on, show
do

local function show_credits(record, tree, where)
	local c = record.credits
	local texts = {}
	if not c then
		return
	end
	if c.left then
		texts[1] = string.format("%d left", c.left) ..
			(c.window and string.format(" of a window of %d", c.window) or "")
	end
	if c.granted then
		texts[#texts + 1] = string.format("gives the peer %d", c.granted)
	end
	if #texts == 0 then
		return
	end
	local sub = tree:add(proto, where, "")
	sub:set_text("Credits: " .. table.concat(texts, "; "))
	sub:set_generated()
	for _, name in ipairs { "sent", "limit", "left", "window", "outstanding", "offered",
		"granted" } do
		if c[name] then
			sub:add(f[name], c[name]):set_generated()
		end
	end
end

function frames_of(tree, field, frames, own)
	for _, number in ipairs(frames) do
		if number ~= own then
			tree:add(field, number):set_generated()
		end
	end
end

local function show_links(m, record, tree, visited)
	if record.stream_flow and record.stream_flow.stream then
		tree:add(f.stream, record.stream_flow.stream):set_generated()
	end
	if record.reverse then
		tree:add(f.reverse, true):set_generated()
	end
	local message = record.message
	if message then
		if message.whole == record.frame then
			frames_of(tree, f.fragment, message.frames)
			tree:add(f.whole_length, message.length):set_generated()
		elseif message.whole then
			tree:add(f.whole_in, message.whole):set_generated()
		end
	end
	if record.request_frame then
		tree:add(f.request_in, record.request_frame):set_generated()
		tree:add(f.time, NSTime.new(math.floor(record.delay),
			math.floor((record.delay - math.floor(record.delay)) * 1e9 + 0.5)))
			:set_generated()
	end
	local asked = record.call or m.htype == REQXCH and record.other
	if asked and asked.answer then
		tree:add(f.response_in, asked.answer):set_generated()
	elseif asked and visited and (not message or message.whole == record.frame) then
		tree:add_proto_expert_info(e.no_answer)
		record.unanswered = true
	end
	if record.call and record.call.whole_in then
		tree:add(f.whole_in, record.call.whole_in):set_generated()
	end
	if record.invalidated then
		tree:add(f.invalidated, record.invalidated):set_generated()
	end
	if record.again_of then
		tree:add(f.again_of, record.again_of):set_generated()
	end
	local call = record.call or record.request
	if call then
		for _, region in ipairs(call.regions) do
			local sent_by_peer = region.kind == "Write chunk" or
				region.kind == "Reply chunk"
			if sent_by_peer == (record.request ~= nil) then
				frames_of(tree, f.data_in, region.frames)
			end
		end
	end
end

local function chunk_text(name, list)
	return list and #list > 0 and string.format("%s %d", name, total(list)) or nil
end

local function info_text(m, record)
	local words = {}
	local function add(text)
		words[#words + 1] = text
	end
	for _, text in ipairs(m.faults) do
		add("[" .. text .. "]")
		break
	end
	for _, text in ipairs(record.brief) do
		add("[" .. text .. "]")
	end
	add(m.name)
	if m.htype ~= GRANT or m.dialect then
		add(string.format("0x%08x", m.xid))
	end
	if m.remaining then
		add(string.format("%d remain", m.remaining))
	end
	add(chunk_text("call", m.call))
	add(chunk_text("read", m.reads))
	for _, chunk in ipairs(m.writes or {}) do
		add(string.format("write %d", total(chunk)))
	end
	add(chunk_text("reply", m.reply))
	if #m.summary > 0 then
		add(table.concat(m.summary, ", "))
	end
	local c = record.credits
	if c and m.htype == GRANT and c.granted then
		add(string.format("peer may send %d", c.granted))
	end
	if c and c.left then
		add(c.window and string.format("(%d/%d)", c.left, c.window) or
			string.format("(%d)", c.left))
	end
	if record.request_frame and m.type.kind ~= "reply" then
		add(string.format("[to frame %d]", record.request_frame))
	end
	if record.invalidated then
		add(string.format("invalidates 0x%x", record.invalidated))
	end
	if record.call and record.call.refused and record.call.answer then
		add(string.format("[refused in frame %d]", record.call.answer))
	end
	if record.reverse then
		add("[reverse]")
	end
	if record.unanswered then
		add("[no answer]")
	end
	return (table.concat(words, " "):gsub("  +", " "):gsub(" $", ""))
end

-- The dissector of RPC matches Calls and Replies by addresses and ports. Queue pairs are the
-- ports of InfiniBand, where a packet names only one of the two; XIDs of the reverse
-- direction have a space of their own.
function hand_on(bytes, title, pinfo, root, flow, reverse)
	local from, to = pinfo.src_port, pinfo.dst_port
	local space = reverse and 0x1000000 or 0
	if flow.queue_pair and flow.peer and flow.peer.queue_pair then
		pinfo.src_port = flow.peer.queue_pair + space
		pinfo.dst_port = flow.queue_pair + space
	elseif reverse then
		pinfo.src_port, pinfo.dst_port = from + space, to + space
	end
	-- It raises an error for a malformed packet, which it has already shown.
	pcall(function()
		rpc_dissector:call(bytes:tvb(title), pinfo, root)
	end)
	pinfo.src_port, pinfo.dst_port = from, to
end

local function show_rpc(m, record, pinfo, root, item)
	if m.cut or not m.whole or #m.faults > 0 or record.repeated then
		return
	end
	for _, broken in ipairs(record.notes) do
		if broken.which == e.xid or broken.which == e.direction or
		    broken.which == e.continuation then
			return
		end
	end
	local bytes, whole, complete = rpc_message(m, record)
	if not bytes then
		return
	end
	if not whole then
		item:add_proto_expert_info(e.reduced)
	elseif not complete then
		item:add_proto_expert_info(e.zeros)
	end
	append_info(pinfo, "| ")
	pinfo.cols.info:fence()
	hand_on(bytes, "RPC message", pinfo, root, record.stream_flow, record.reverse)
end

function show(m, record, tvb, pinfo, root, item)
	check_lists(m, record.message and record.message.length or m.payload_length)
	for _, n in ipairs(record.notes) do
		if n.text then
			item:add_proto_expert_info(n.which, meanings[n.which] .. ": " .. n.text)
		else
			item:add_proto_expert_info(n.which)
		end
	end
	show_credits(record, item, tvb(8, 4))
	show_links(m, record, item, pinfo.visited)
	pinfo.cols.protocol = "RPCRDMA2"
	pinfo.cols.info = info_text(m, record)
	item:set_len(math.min(tvb:len(), m.payload_at or tvb:len()))
	show_rpc(m, record, pinfo, root, item)
end

end

-- ---------------------------------------------------------------------------------------
-- Packets
-- ---------------------------------------------------------------------------------------

local function new_record(packet, pinfo)
	return {
		frame = pinfo.number, time = pinfo.rel_ts, notes = {}, brief = {},
		flow = packet.flow,
	}
end

local function keep_bytes(m, record, tvb)
	if m.cut or not m.payload_at then
		return
	end
	if m.payload_length > 0 then
		record.payload = tvb(m.payload_at, m.payload_length):bytes()
		record.first_words = {}
		for i = 1, math.min(6, math.floor(m.payload_length / 4)) do
			record.first_words[i] = tvb(m.payload_at + (i - 1) * 4, 4):uint()
		end
	end
	if m.type.group then
		record.whole_message = tvb:range():bytes()
	end
end

-- A whole message.
local function dissect_message(tvb, pinfo, root, packet, flow, key)
	local item = root:add(proto, tvb())
	if tvb:len() < PREFIX then
		item:add_proto_expert_info(e.short)
		pinfo.cols.protocol = "RPCRDMA2"
		pinfo.cols.info = "[shorter than a header prefix]"
		if not records[key] then
			records[key] = new_record(packet, pinfo)
			if flow.known then
				flow.sent = (flow.sent or 0) + 1
			end
		end
		return
	end
	local record = records[key]
	local dialect
	if record then
		dialect = record.dialect
	else
		-- Once version 2 is agreed on these types mean nothing.
		dialect = not flow.agreed and is_dialect(tvb)
	end
	local m = decode(tvb, item, packet.missing, dialect)
	if not record then
		record = new_record(packet, pinfo)
		records[key] = record
		record.stream_flow = flow
		record.dialect = dialect
		record.invalidated = packet.invalidate
		keep_bytes(m, record, tvb)
		if packet.repeated then
			record.repeated = true
			note(record, e.repeated, nil, "sent again")
		else
			if packet.gap then
				note(record, e.lost)
			end
			analyse(m, record, flow)
			-- The messages that have parts have kept what they need.
			record.payload, record.whole_message = nil, nil
			local sender_serves = flow.role == "server"
			local kind = m.type.kind
			record.reverse = flow.known and (kind == "call" and sender_serves or
				kind == "reply" and not sender_serves)
		end
	end
	show(m, record, tvb, pinfo, root, item)
end

-- It can be nothing else: two words that are right, or a connection that is known.
local function is_version2(tvb, flow, packet)
	if tvb:len() < PREFIX then
		return flow.agreed and packet.whole
	end
	local version = tvb(4, 4):uint()
	if version == 2 then
		return TYPES[tvb(12, 4):uint()] ~= nil or flow.version2 or
			flow.peer and flow.peer.version2 or is_dialect(tvb)
	elseif flow.agreed and flow.peer and flow.peer.agreed then
		-- Version 1 is Wireshark's, unless it must not be here.
		return true
	end
	return false
end

-- A packet of a Send that has several.
local function dissect_part(tvb, pinfo, root, packet, flow, record)
	local send = record.send
	local item = root:add(proto, tvb())
	item:append_text(", part of a message")
	pinfo.cols.protocol = "RPCRDMA2"
	pinfo.cols.info = string.format("Part of a message%s", send.name)
	if send.whole and send.bytes and send.whole ~= pinfo.number then
		item:add(f.whole_in, send.whole):set_generated()
		append_info(pinfo, string.format("[whole in frame %d]", send.whole))
	end
	if send.repeated or record.again then
		item:add_proto_expert_info(e.repeated)
		append_info(pinfo, "[sent again]")
	elseif not send.bytes then
		item:add_proto_expert_info(e.lost)
		append_info(pinfo, "[not all of it is in the capture]")
	end
	frames_of(item, f.fragment, {})
end

local function take_part(tvb, pinfo, packet, flow, key)
	local record = records[key]
	if record then
		return record
	end
	local send = flow.sends and flow.sends[packet.message] or flow.send
	if packet.first then
		if tvb:len() < PREFIX or not is_version2(tvb, flow, packet) then
			return nil
		end
		send = {
			bytes = ByteArray.new(), frames = {}, repeated = packet.repeated,
			name = string.format(" %s 0x%08x", TYPE_NAMES[tvb(12, 4):uint()] or "",
				tvb(0, 4):uint()),
		}
		if packet.message then
			flow.sends = flow.sends or {}
			flow.sends[packet.message] = send
		else
			flow.send = send
		end
	elseif not send then
		-- Wireshark's dissector of version 1 would stumble over the rest of a message.
		if not flow.version2 then
			return nil
		end
		send = { frames = {}, name = "", repeated = packet.repeated }
	end
	record = new_record(packet, pinfo)
	records[key] = record
	record.send = send
	if packet.repeated and not send.repeated then
		record.again = true
		return record
	end
	table.insert(send.frames, pinfo.number)
	if packet.gap or tvb:len() < tvb:reported_len() or packet.missing and packet.missing > 0 or
	    packet.at and send.bytes and packet.at ~= send.bytes:len() then
		send.bytes = nil
	elseif send.bytes then
		send.bytes:append(tvb:range():bytes())
	end
	if packet.last then
		send.whole = pinfo.number
		record.last = true
		if packet.message then
			if flow.sends then
				flow.sends[packet.message] = nil
			end
		else
			flow.send = nil
		end
	end
	return record
end

local function dissect_send(tvb, pinfo, root, packet)
	local flow = find_flow(packet)
	local key = packet.key
	packet.whole = packet.first and packet.last
	if packet.whole then
		if not is_version2(tvb, flow, packet) then
			return false
		end
		dissect_message(tvb, pinfo, root, packet, flow, key)
		return true
	end
	local record = take_part(tvb, pinfo, packet, flow, key)
	if not record then
		return false
	end
	if record.last and record.send.bytes then
		local whole = record.send.bytes:tvb("Message")
		local item = root:add(proto, tvb())
		item:set_text("RPC-over-RDMA version 2, last part of a message")
		frames_of(item, f.fragment, record.send.frames, pinfo.number)
		packet.gap = nil
		packet.repeated = record.send.repeated
		dissect_message(whole, pinfo, root, packet, flow, key .. "/whole")
	else
		if record.last and not record.counted then
			-- That there was one is known all the same.
			record.counted = true
			if flow.known and not record.send.repeated and not record.again then
				flow.sent = (flow.sent or 0) + 1
			end
		end
		dissect_part(tvb, pinfo, root, packet, flow, record)
	end
	return true
end

-- RDMA Reads and Writes of chunks that a Call has offered ---------------------------------

local function show_operation(tvb, pinfo, root, record)
	local region = record.region
	local item = root:add(proto, tvb())
	local text = string.format("%s, %s of Call 0x%08x, handle 0x%08x", record.operation,
		region.kind, region.call.xid, region.handle)
	item:append_text(", " .. text)
	item:add(f.rdma, text):set_generated()
	item:add(f.chunk_of, region.call.frame):set_generated()
	append_info(pinfo, string.format("[%s of 0x%08x in frame %d: %s]", region.kind,
		region.call.xid, region.call.frame, octets(record.length)))
	return item
end

local function complete_call(record, call, frame)
	if not call.chunk or call.whole_in then
		return
	end
	for _, region in ipairs(call.regions) do
		if region.kind == "Call chunk" and region.got < region.length then
			return
		end
	end
	call.whole_in = frame
	record.completes = call
end

local function dissect_write(tvb, pinfo, root, packet)
	local record = records[packet.key]
	if not record then
		local flow = find_flow(packet)
		local place = packet.handle and
			{ handle = packet.handle, offset = packet.offset } or flow.write
		flow.write = place
		if not place or packet.repeated then
			return false
		end
		local region, at = region_at(flow, place.handle, place.offset)
		if not region then
			return false
		end
		record = new_record(packet, pinfo)
		record.operation = "RDMA Write"
		records[packet.key] = record
		take_data(region, at, tvb, record)
		place.offset = place.offset + UInt64(tvb:len())
	end
	show_operation(tvb, pinfo, root, record)
	return true
end

local function dissect_read_request(tvb, pinfo, root, packet)
	local record = records[packet.key]
	if not record then
		local flow = find_flow(packet)
		local region = region_at(flow, packet.handle, packet.offset)
		if not region then
			return false
		end
		record = new_record(packet, pinfo)
		record.operation = "RDMA Read"
		record.region = region
		record.length = packet.length
		records[packet.key] = record
		flow.reads[packet.answer] = {
			handle = packet.handle, offset = packet.offset, sink = packet.sink,
		}
	end
	show_operation(tvb, pinfo, root, record)
	return true
end

local function dissect_read_response(tvb, pinfo, root, packet)
	local record = records[packet.key]
	if not record then
		local flow = find_flow(packet)
		local peer = flow.peer
		local place
		if packet.first and peer then
			place = peer.reads[packet.answer]
			flow.reading = place
		else
			place = flow.reading
		end
		if not place then
			return false
		end
		local offset = place.offset
		if packet.sink and place.sink then
			offset = offset + (packet.sink - place.sink)
		end
		local region, at
		if peer then
			region, at = region_at(peer, place.handle, offset)
		end
		if not region then
			return false
		end
		record = new_record(packet, pinfo)
		record.operation = "RDMA Read Response"
		records[packet.key] = record
		take_data(region, at, tvb, record)
		complete_call(record, region.call, pinfo.number)
		if not packet.sink then
			place.offset = offset + UInt64(tvb:len())
		end
	end
	local item = show_operation(tvb, pinfo, root, record)
	local call = record.completes
	if call and total(call.chunk) <= LARGEST then
		local stream, complete = data_of(call, call.chunk)
		if not call.program and stream:len() >= 24 then
			call.program = word_at(stream, 3)
			call.version = word_at(stream, 4)
			call.procedure = word_at(stream, 5)
		end
		if complete and stream:len() > 0 then
			append_info(pinfo, "| ")
			pinfo.cols.info:fence()
			hand_on(stream, "RPC Call of a Call chunk", pinfo, root, find_flow(packet),
				record.reverse)
		end
	end
	return item ~= nil
end

-- InfiniBand and RoCE --------------------------------------------------------------------

local SEND, WRITE, READ_REQUEST, READ_RESPONSE = 1, 2, 3, 4

-- Opcodes of reliable connections: operation, first, last, octets behind the BTH.
local OPCODES = {
	[0x00] = { SEND, true, false, 0 }, [0x01] = { SEND, false, false, 0 },
	[0x02] = { SEND, false, true, 0 }, [0x03] = { SEND, false, true, 4 },
	[0x04] = { SEND, true, true, 0 }, [0x05] = { SEND, true, true, 4 },
	[0x16] = { SEND, false, true, 4 }, [0x17] = { SEND, true, true, 4 },
	[0x06] = { WRITE, true, false, 16 }, [0x07] = { WRITE, false, false, 0 },
	[0x08] = { WRITE, false, true, 0 }, [0x09] = { WRITE, false, true, 4 },
	[0x0a] = { WRITE, true, true, 16 }, [0x0b] = { WRITE, true, true, 20 },
	[0x0c] = { READ_REQUEST, true, true, 16 },
	[0x0d] = { READ_RESPONSE, true, false, 4 }, [0x0e] = { READ_RESPONSE, false, false, 0 },
	[0x0f] = { READ_RESPONSE, false, true, 4 }, [0x10] = { READ_RESPONSE, true, true, 4 },
}

-- The transport headers of the packet at hand. Wireshark's fields are there only when it
-- builds a tree, which it does not do when it reads a file for the first time.
local transport

local function read_transport(tvb, at)
	if tvb:len() < at + 12 then
		return nil
	end
	local t = {
		opcode = tvb(at, 1):uint(), pad = math.floor(tvb(at + 1, 1):uint() / 16) % 4,
		queue_pair = tvb(at + 5, 3):uint(), psn = tvb(at + 9, 3):uint(),
	}
	local known = OPCODES[t.opcode]
	if not known then
		return t
	end
	t.payload_at = at + 12 + known[4]
	if (t.opcode == 0x16 or t.opcode == 0x17) and tvb:len() >= at + 16 then
		t.invalidate = tvb(at + 12, 4):uint()
	end
	if known[4] >= 16 and tvb:len() >= at + 28 then
		t.address = tvb(at + 12, 8):uint64()
		t.key = tvb(at + 20, 4):uint()
		t.length = tvb(at + 24, 4):uint()
	end
	return t
end

local function transport_of_fields()
	local opcode = in_packet.opcode()
	if not opcode then
		return nil
	end
	local key = in_packet.key()
	return {
		opcode = opcode.value, pad = in_packet.pad().value,
		queue_pair = in_packet.queue_pair().value, psn = in_packet.psn().value,
		key = key and key.value, address = key and in_packet.address().value,
		length = key and in_packet.dma_length().value,
		invalidate = in_packet.invalidate() and
			in_packet.invalidate().range:uint() or nil,
	}
end

-- The order of a queue pair's requests: packets that come again, or are not there.
local function follow_psn(packet, flow, t)
	local again = flow.psn and distance(t.psn, flow.psn, 0x1000000) < 0 and
		distance(t.psn, flow.psn, 0x1000000) > -0x10000
	if again then
		packet.repeated = true
		return
	end
	packet.gap = flow.psn and not flow.psn_loose and t.psn ~= flow.psn
	if packet.gap then
		-- How many messages are not there is not known.
		flow.known = false
		flow.open = nil
	end
	flow.psn = (t.psn + 1) % 0x1000000
	-- A Read takes as many numbers as its response has packets.
	flow.psn_loose = OPCODES[t.opcode][1] == READ_REQUEST
end

local OPERATIONS = {
	[SEND] = dissect_send, [WRITE] = dissect_write, [READ_REQUEST] = dissect_read_request,
	[READ_RESPONSE] = dissect_read_response,
}

local function dissect_infiniband(tvb, pinfo, root)
	local t = transport or transport_of_fields()
	local known = t and OPCODES[t.opcode]
	if not known then
		return false
	end
	if t.pad > 0 and t.pad < tvb:len() and tvb:len() == tvb:reported_len() and
	    (t.missing or 0) == 0 then
		tvb = tvb(0, tvb:len() - t.pad):tvb()
	end
	local addresses = tostring(pinfo.src) .. " > " .. tostring(pinfo.dst)
	local packet = {
		addresses = addresses, flow = string.format("%s %d", addresses, t.queue_pair),
		key = string.format("%d/%d", pinfo.number, t.psn), first = known[2],
		last = known[3], handle = t.key, offset = t.address, length = t.length,
		answer = t.psn, queue_pair = t.queue_pair, missing = t.missing,
		invalidate = t.invalidate,
	}
	if known[1] ~= READ_RESPONSE and not records[packet.key] then
		local flow = flows[packet.flow]
		if not flow and known[1] == SEND then
			flow = find_flow(packet)
		end
		if flow then
			local seen = "psn/" .. packet.key
			local before = records[seen]
			if not before then
				before = packet
				records[seen] = packet
				follow_psn(packet, flow, t)
			end
			packet.repeated, packet.gap = before.repeated, before.gap
		end
	end
	return OPERATIONS[known[1]](tvb, pinfo, root, packet)
end

proto:register_heuristic("infiniband.payload", function(tvb, pinfo, root)
	if transport and transport.done then
		return false
	end
	local taken = dissect_infiniband(tvb, pinfo, root)
	if taken and transport then
		transport.done = true
	end
	return taken
end)

-- iWARP ----------------------------------------------------------------------------------

-- The segments of TCP in the frame at hand, for the same reason.
local tcp_segments = {}

local RDMAP = {
	[0] = WRITE, [1] = READ_REQUEST, [2] = READ_RESPONSE, [3] = SEND, [4] = SEND,
	[5] = SEND, [6] = SEND,
}
local TAGGED_HEADER, UNTAGGED_HEADER, READ_REQUEST_SIZE = 14, 18, 28

local function last_of(field)
	local all = { field() }
	return #all > 0 and all[#all].value or nil
end

local function read_ddp(tvb, at)
	local control = tvb(at, 1):uint()
	local d = {
		tagged = control >= 0x80, last = math.floor(control / 0x40) % 2 == 1,
		opcode = tvb(at + 1, 1):uint() % 16,
	}
	if d.tagged then
		d.tag = tvb(at + 2, 4):uint()
		d.offset = tvb(at + 6, 8):uint64()
	else
		if d.opcode == 4 or d.opcode == 6 then
			d.invalidate = tvb(at + 2, 4):uint()
		end
		d.msn = tvb(at + 10, 4):uint()
		d.at = tvb(at + 14, 4):uint()
	end
	return d
end

-- Calls @visit for each unit of MPA in a segment, if one begins where the segment does.
-- Markers are not provided for: Linux uses none.
local function each_unit(segment, visit)
	local outer = segment.tvb
	local at = 0
	while outer:len() - at >= 2 + UNTAGGED_HEADER do
		local length = outer(at, 2):uint()
		local start = at + 2
		if length < TAGGED_HEADER or outer:len() - start < length then
			return
		end
		local d = read_ddp(outer, start)
		d.start = start
		d.behind = start + (d.tagged and TAGGED_HEADER or UNTAGGED_HEADER)
		d.here = start + length - d.behind
		if visit(d, outer) then
			return
		end
		-- Padding, and a checksum.
		at = start + length + (4 - (length + 2) % 4) % 4 + 4
	end
end

-- The header of DDP and RDMAP that belongs to @tvb. Wireshark's dissector of DDP hands over
-- what is behind one header, or all segments of a message behind the last one's.
local function ddp_header(tvb)
	local found, found_in
	for _, segment in ipairs(tcp_segments) do
		each_unit(segment, function(d, outer)
			local behind = segment.offset + d.behind
			local fits = behind == tvb:offset() and d.here == tvb:reported_len()
			if d.opcode == 1 and not d.tagged then
				d.request_at = d.here >= READ_REQUEST_SIZE and d.behind
				fits = tvb:len() == 0 or behind <= tvb:offset() and
					tvb:offset() <= behind + d.here
			elseif not fits and not d.tagged and d.last and d.at > 0 and
			    d.at + d.here == tvb:len() then
				d.at = 0
				fits = true
			end
			if fits then
				found, found_in = d, outer
				segment.taken[d.start] = true
			end
			return fits
		end)
		if found then
			break
		end
	end
	return found, found_in
end

local function ddp_of_fields()
	local opcode = last_of(in_packet.rdmap_opcode)
	if not opcode then
		return nil
	end
	local d = { opcode = opcode, last = last_of(in_packet.last) }
	d.tagged = RDMAP[opcode] == WRITE or RDMAP[opcode] == READ_RESPONSE
	if d.tagged then
		d.tag, d.offset = last_of(in_packet.tag), last_of(in_packet.tagged_offset)
	else
		d.msn, d.at = last_of(in_packet.msn), last_of(in_packet.message_offset)
	end
	return d
end

local function iwarp_flow(from, from_port, to, to_port)
	return string.format("%s:%d > %s:%d", from, from_port, to, to_port)
end

local function iwarp_packet(pinfo)
	local from, to = tostring(pinfo.src), tostring(pinfo.dst)
	local packet = {
		flow = iwarp_flow(from, pinfo.src_port, to, pinfo.dst_port),
	}
	packet.addresses = packet.flow
	local back = iwarp_flow(to, pinfo.dst_port, from, pinfo.src_port)
	if not flows[packet.flow] then
		local one = new_flow(packet.flow, packet.addresses)
		join(one, flows[back] or new_flow(back, back), true)
	end
	return packet
end

local function read_request(d, tvb, outer, packet)
	local at = d.request_at
	local source = outer
	if not at and tvb:len() >= READ_REQUEST_SIZE then
		at, source = 0, tvb
	end
	if at then
		packet.answer = source(at, 4):uint()
		packet.sink = source(at + 4, 8):uint64()
		packet.length = source(at + 12, 4):uint()
		packet.handle = source(at + 16, 4):uint()
		packet.offset = source(at + 20, 8):uint64()
	elseif last_of(in_packet.source_tag) then
		packet.answer = last_of(in_packet.sink_tag)
		packet.sink = last_of(in_packet.sink_offset)
		packet.length = last_of(in_packet.read_size)
		packet.handle = last_of(in_packet.source_tag)
		packet.offset = last_of(in_packet.source_offset)
	end
	return packet.handle ~= nil
end

local function dissect_unit(d, outer, tvb, pinfo, root)
	local operation = RDMAP[d.opcode]
	if not operation then
		return false
	end
	local packet = iwarp_packet(pinfo)
	packet.last = d.last
	packet.first = true
	if operation == SEND then
		packet.key = string.format("%d/%s/%d/%d", pinfo.number, packet.flow, d.msn, d.at)
		packet.message, packet.at = d.msn, d.at
		packet.invalidate = d.invalidate
		packet.first = d.at == 0
		local flow = find_flow(packet)
		if not records[packet.key] and flow.msn and
		    signed32(d.msn, flow.msn) < 0 then
			packet.repeated = true
		end
		flow.msn = packet.last and not packet.repeated and (d.msn + 1) % TWO_32 or
			flow.msn
	elseif operation == READ_REQUEST then
		packet.key = string.format("%d/%s/r%d", pinfo.number, packet.flow, d.msn or 0)
		if not read_request(d, tvb, outer, packet) then
			return false
		end
	else
		packet.key = string.format("%d/%s/%d/%s", pinfo.number, packet.flow, d.tag,
			tostring(d.offset))
		packet.handle, packet.offset = d.tag, d.offset
		if operation == READ_RESPONSE then
			packet.answer, packet.sink = d.tag, d.offset
		end
	end
	return OPERATIONS[operation](tvb, pinfo, root, packet)
end

proto:register_heuristic("iwarp_ddp_rdmap", function(tvb, pinfo, root)
	local d, outer = ddp_header(tvb)
	d = d or ddp_of_fields()
	if not d then
		return false
	end
	-- All of a message that had several segments.
	if d.last and (d.at or 0) > 0 and tvb:len() > d.at then
		d.at = 0
	end
	local taken = dissect_unit(d, outer, tvb, pinfo, root)
	if taken then
		-- What follows in the same frame writes over it.
		tcp_segments.info = tostring(pinfo.cols.info)
	end
	return taken
end)

-- Messages that Wireshark's dissectors have kept to themselves: that of DDP hands over only
-- the first message of a frame, and that of version 1 takes ERRORs of version 2.
local function dissect_rest(pinfo, root)
	for _, segment in ipairs(tcp_segments) do
		each_unit(segment, function(d, outer)
			if not segment.taken[d.start] and RDMAP[d.opcode] == SEND and
			    not d.tagged and d.last and d.at == 0 and d.here >= PREFIX and
			    outer(d.behind + 4, 4):uint() == 2 then
				pinfo.cols.info:clear_fence()
				if tcp_segments.info then
					pinfo.cols.info = tcp_segments.info .. "; "
					pinfo.cols.info:fence()
				end
				dissect_unit(d, outer, outer(d.behind, d.here):tvb(), pinfo, root)
				tcp_segments.info = tostring(pinfo.cols.info)
			end
		end)
	end
end

-- ---------------------------------------------------------------------------------------
-- Private data of the connection's messages (RFC 8797)
-- ---------------------------------------------------------------------------------------

local MAGIC = 0xf6ab0e18

local function show_private(tvb, pinfo, root)
	if tvb:len() < 8 or tvb(0, 4):uint() ~= MAGIC then
		return false
	end
	local item = root:add(private, tvb(0, 8))
	local send = (tvb(6, 1):uint() + 1) * 1024
	local receive = (tvb(7, 1):uint() + 1) * 1024
	local flags = tvb(5, 1):uint()
	item:add(p.magic, tvb(0, 4))
	item:add(p.version, tvb(4, 1))
	local sub = item:add(p.flags, tvb(5, 1))
	sub:add(p.invalidate, tvb(5, 1))
	sub:add(p.version2, tvb(5, 1))
	item:add(p.send, tvb(6, 1), send)
	item:add(p.receive, tvb(7, 1), receive)
	append_info(pinfo, string.format("[RPC-over-RDMA: %ssend %d receive %d%s]",
		flags >= 0x80 and "speaks version 2, " or "", send, receive,
		flags % 2 == 1 and ", invalidate" or ""))
	return true
end

-- The queue pairs of both ends; what was at these before is over.
local function note_queue_pair(from, to, number)
	local addresses = tostring(from) .. " > " .. tostring(to)
	local key = string.format("%s %d", addresses, number)
	local old = flows[key]
	for i, flow in ipairs(by_addresses[addresses] or {}) do
		if flow == old then
			table.remove(by_addresses[addresses], i)
			break
		end
	end
	local flow = new_flow(key, addresses, number)
	flow.known = true
	return flow
end

local function note_connect(request_id, request_qp, reply_to, reply_qp, pinfo)
	local seen = "cm/" .. pinfo.number
	if records[seen] then
		return
	end
	records[seen] = true
	if request_id and request_qp then
		requests[request_id] = { qp = request_qp, source = tostring(pinfo.src) }
	elseif reply_to and reply_qp and requests[reply_to] then
		local to_client = note_queue_pair(pinfo.src, pinfo.dst, requests[reply_to].qp)
		local to_server = note_queue_pair(pinfo.dst, pinfo.src, reply_qp)
		to_client.role, to_server.role = "server", "client"
		join(to_client, to_server, true)
		requests[reply_to] = nil
	end
end

-- A management datagram of the communication manager, from its class on.
local CM_CLASS, CONNECT_REQUEST, CONNECT_REPLY = 7, 0x10, 0x13

local function read_management(tvb, at, pinfo)
	-- BTH and DETH are in front of it, and it has a header of 24 octets.
	at = at + 20
	if tvb:len() < at + 24 + 36 or tvb(at + 1, 1):uint() ~= CM_CLASS then
		return
	end
	local attribute = tvb(at + 16, 2):uint()
	local body = at + 24
	if attribute == CONNECT_REQUEST then
		note_connect(tvb(body, 4):uint(), tvb(body + 32, 3):uint(), nil, nil, pinfo)
	elseif attribute == CONNECT_REPLY then
		note_connect(nil, nil, tvb(body + 4, 4):uint(), tvb(body + 12, 3):uint(), pinfo)
	end
end

private:register_heuristic("infiniband.mad.cm.private", function(tvb, pinfo, root)
	local function value(field)
		local info = field()
		return info and info.value
	end
	if not transport then
		note_connect(value(in_packet.request_id), value(in_packet.request_qp),
			value(in_packet.reply_to), value(in_packet.reply_qp), pinfo)
	end
	return show_private(tvb, pinfo, root)
end)

-- ---------------------------------------------------------------------------------------
-- Around Wireshark's own dissectors. They hand over what follows the transport headers, and
-- not the headers; and Wireshark's dissector of version 1 takes ERRORs of version 2 for its
-- own and shows nothing of them, if it is asked first. It is asked first when the message
-- before was one of version 1.
-- ---------------------------------------------------------------------------------------

-- Where the BTH is in a packet that begins with the link's header.
local function after_lrh(tvb)
	if tvb:len() < 8 then
		return nil
	end
	local next_header = tvb(1, 1):uint() % 4
	return next_header == 2 and 8 or next_header == 3 and 48 or nil
end

local DATAGRAM = 0x64
-- At the end of a packet.
local CHECKSUMS = 4

local function around(name, text, table_name, value, find)
	-- Not every Wireshark has all of these tables.
	local there, dissectors = pcall(DissectorTable.get, table_name)
	local inner = there and dissectors and dissectors:get_dissector(value)
	if not inner then
		return
	end
	local outer = Proto("rpcrdma2_" .. name, "RPC-over-RDMA version 2 over " .. text)
	function outer.dissector(tvb, pinfo, root)
		local at = find(tvb)
		local before = transport
		transport = at and read_transport(tvb, at) or nil
		local t = transport
		-- A malformed packet raises an error, and has been shown by then.
		local ok, length = pcall(function()
			return inner:call(tvb, pinfo, root)
		end)
		if t and t.opcode == DATAGRAM then
			read_management(tvb, at, pinfo)
		end
		if t and OPCODES[t.opcode] and not t.done and t.payload_at then
			local octets_left = tvb:reported_len() - t.payload_at - CHECKSUMS
			local there = math.min(octets_left, tvb:len() - t.payload_at)
			local version = there >= PREFIX and tvb(t.payload_at + 4, 4):uint()
			t.missing = octets_left - there
			if version == 2 then
				dissect_infiniband(tvb(t.payload_at, there):tvb(), pinfo, root)
			end
		end
		transport = before
		return ok and length or tvb:len()
	end
	dissectors:add(value, outer)
end

local function at_beginning()
	return 0
end

around("rocev2", "RoCE version 2", "udp.port", 4791, at_beginning)
around("rocev1", "RoCE version 1", "ethertype", 0x8915, function()
	return 40
end)
around("ib", "InfiniBand", "wtap_encap", (wtap_encaps or wtap).INFINIBAND, after_lrh)
around("erf", "InfiniBand in ERF", "erf.types.type", 21, after_lrh)

local iwarp = Proto("rpcrdma2_iwarp", "RPC-over-RDMA version 2 over iWARP")

-- Takes note of the segment, and leaves it to the dissector of MPA.
function iwarp.dissector(tvb, pinfo)
	if tcp_segments.frame ~= pinfo.number then
		tcp_segments = { frame = pinfo.number }
	end
	-- It is offered once for each port.
	for _, segment in ipairs(tcp_segments) do
		if segment.offset == tvb:offset() and segment.tvb:len() == tvb:len() then
			return 0
		end
	end
	table.insert(tcp_segments, { tvb = tvb, offset = tvb:offset(), taken = {} })
	return 0
end

local iwarp_port = proto.prefs.iwarp_port
DissectorTable.get("tcp.port"):add(iwarp_port, iwarp)

function proto.prefs_changed()
	if iwarp_port ~= proto.prefs.iwarp_port then
		DissectorTable.get("tcp.port"):remove(iwarp_port, iwarp)
		iwarp_port = proto.prefs.iwarp_port
		DissectorTable.get("tcp.port"):add(iwarp_port, iwarp)
	end
end

-- What is handed to no heuristic of ours: private data of MPA, and more of iWARP.
function proto.dissector(tvb, pinfo, root)
	local data = in_packet.mpa_private()
	if data then
		show_private(data.range:tvb(), pinfo, root)
	end
	if #tcp_segments > 0 and tcp_segments.frame == pinfo.number then
		dissect_rest(pinfo, root)
	end
	tcp_segments = {}
	return 0
end
register_postdissector(proto)
