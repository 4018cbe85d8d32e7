// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include "layout.h"
#include "fuzz.h"
#include "planner.h"
#include "xdr.h"

#include <vector>

using namespace rpcrdma;

namespace fuzz
{

void check_layout(const Chunks &c, u32 stream_length, u32 unreduced)
{
	rpcrdma_piece pieces[RPCRDMA_MAX_PIECES];
	const u32 n = layout_call(c, stream_length, pieces);
	u32 segment = 0; /* the next one that has octets */
	u32 stream = 0;
	u64 at = 0;

	FUZZ_CHECK(n <= RPCRDMA_MAX_PIECES);
	for (u32 i = 0; i < n; i++) {
		const rpcrdma_piece &p = pieces[i];

		FUZZ_CHECK(p.target.length > 0);
		/* Only roundup is left out, and only after a chunk. */
		FUZZ_CHECK(p.target.offset == at ||
			   (i && pieces[i - 1].segment >= 0 &&
			    p.target.offset == xdr_roundup(at)));
		at = u64{ p.target.offset } + p.target.length;
		if (p.segment < 0) {
			FUZZ_CHECK(p.source == stream);
			stream += p.target.length;
			continue;
		}
		while (segment < c.n_reads && !c.reads[segment].target.length)
			segment++;
		FUZZ_CHECK(static_cast<u32>(p.segment) == segment);
		FUZZ_CHECK(segment < c.n_reads);
		FUZZ_CHECK(p.source == 0);
		FUZZ_CHECK(p.target.length == c.reads[segment].target.length);
		segment++;
	}
	while (segment < c.n_reads && !c.reads[segment].target.length)
		segment++;
	FUZZ_CHECK(segment == c.n_reads);
	FUZZ_CHECK(stream == stream_length);
	FUZZ_CHECK(at == unreduced || xdr_roundup(at) == unreduced);
}

namespace
{

/* Who takes care of each octet of an unreduced Reply. */
class Octets {
public:
	explicit Octets(u32 length)
		: taken_(length)
	{
	}
	void take(const Range &r)
	{
		FUZZ_CHECK(u64{ r.offset } + r.length <= taken_.size());
		for (u32 i = 0; i < r.length; i++)
			FUZZ_CHECK(!taken_[r.offset + i]++);
	}
	[[nodiscard]] bool taken(u32 at) const
	{
		return taken_[at];
	}

private:
	std::vector<u8> taken_;
};

/* The jobs fill one chunk's segments in order, and say so in its lengths. */
u32 check_chunk(const Chunks &call, const WriteChunk &offered,
		const Chunks &returned, const WriteChunk &chunk, u32 job,
		const rpcrdma_reply_plan &plan)
{
	const Span<const Segment> out = segments(call, offered);
	const Span<const Segment> in = segments(returned, chunk);

	FUZZ_CHECK(in.size() == out.size());
	for (u32 i = 0; i < in.size(); i++) {
		u32 filled = 0;

		FUZZ_CHECK(in[i].handle == out[i].handle);
		FUZZ_CHECK(in[i].offset == out[i].offset);
		FUZZ_CHECK(in[i].length <= out[i].length);
		for (; filled < in[i].length; job++) {
			FUZZ_CHECK(job < plan.n_jobs);
			const rpcrdma_write_job &j = plan.jobs[job];

			FUZZ_CHECK(j.source.length > 0);
			FUZZ_CHECK(j.source.length == j.target.length);
			FUZZ_CHECK(j.target.handle == in[i].handle);
			FUZZ_CHECK(j.target.offset == in[i].offset + filled);
			filled += j.target.length;
		}
		FUZZ_CHECK(filled == in[i].length);
	}
	return job;
}

} // namespace

void check_reply_plan(const Chunks &call, u32 length, Span<const Range> results,
		      const rpcrdma_reply_plan &plan)
{
	const Chunks &c = plan.chunks;
	Octets octets(length);
	u32 removed = 0;
	u32 result = 0;
	u32 job = 0;
	u64 end = 0;
	u32 octets_written;

	FUZZ_CHECK(plan.n_jobs <= RPCRDMA_MAX_WRITE_JOBS);
	FUZZ_CHECK(plan.n_removed <= RPCRDMA_MAX_CHUNKS);
	FUZZ_CHECK(well_formed(c));
	if (plan.errcode == RPCRDMA2_ERR_WRITE_RESOURCE) {
		FUZZ_CHECK(plan.index >= 1 && plan.index <= call.n_writes);
		FUZZ_CHECK(plan.needed >
			   total_length(segments(call,
						 call.writes[plan.index - 1])));
		return;
	}
	if (plan.errcode) {
		FUZZ_CHECK(plan.errcode == RPCRDMA2_ERR_REPLY_RESOURCE);
		FUZZ_CHECK(plan.needed == plan.stream_length);
		FUZZ_CHECK(!plan.external);
		return;
	}

	for (u32 i = 0; i < plan.n_removed; i++) {
		const Range &r = plan.removed[i];

		FUZZ_CHECK(r.offset && r.length && xdr_aligned(r.offset) &&
			   xdr_aligned(r.length));
		FUZZ_CHECK(r.offset >= end);
		end = u64{ r.offset } + r.length;
		FUZZ_CHECK(end <= length);
		removed += r.length;
		/* It is a result, and later than that of the range before. */
		while (result < results.size() &&
		       (results[result].offset != r.offset ||
			xdr_roundup(results[result].length) != r.length))
			result++;
		FUZZ_CHECK(result < results.size());
		result++;
	}
	FUZZ_CHECK(plan.stream_length + removed == length);

	if (!well_formed(call)) {
		FUZZ_CHECK(no_chunks(c) && !plan.n_jobs && !plan.n_removed);
		return;
	}
	FUZZ_CHECK(c.n_writes == call.n_writes);
	u64 sum = 0;
	for (u32 i = 0; i < c.n_writes; i++) {
		job = check_chunk(call, call.writes[i], c, c.writes[i], job,
				  plan);
		FUZZ_CHECK(written(call, c, i, octets_written));
		sum += octets_written;
	}
	FUZZ_CHECK(c.has_reply == plan.external);
	if (plan.external) {
		job = check_chunk(call, call.reply, c, c.reply, job, plan);
		FUZZ_CHECK(replied(call, c, octets_written));
		FUZZ_CHECK(octets_written == plan.stream_length);
		sum += octets_written;
	}
	FUZZ_CHECK(job == plan.n_jobs);

	/* Each octet goes one way; what was removed and not written is roundup. */
	for (u32 i = 0; i < plan.n_jobs; i++) {
		octets.take(plan.jobs[i].source);
		sum -= plan.jobs[i].source.length;
	}
	FUZZ_CHECK(!sum);
	for (u32 i = 0; i < plan.n_removed; i++) {
		const Range &r = plan.removed[i];

		for (u32 o = 0; o < r.length; o++)
			FUZZ_CHECK(octets.taken(r.offset + o) ||
				   r.length - o < kXdrUnit);
	}
	const Span<const Range> ranges(plan.removed, plan.n_removed);
	for (u32 o = 0; o < plan.stream_length;) {
		u32 unreduced;
		u32 run = stream_run(ranges, o, unreduced);

		FUZZ_CHECK(run > 0);
		if (run > plan.stream_length - o)
			run = plan.stream_length - o;
		FUZZ_CHECK(u64{ unreduced } + run <= length);
		for (u32 i = 0; i < run; i++)
			FUZZ_CHECK(octets.taken(unreduced + i) ==
				   plan.external);
		o += run;
	}
}

} // namespace fuzz
