// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Where the DDP-eligible results of a Reply are.
 */
#include <linux/nfs4.h>
#include <linux/sunrpc/svcauth.h>

#include "reply.h"

/* Integrity and privacy protect the results inside the message (D9). */
static bool rpcrdma_svc_reducible(const struct svc_rqst *rqstp)
{
	u32 flavor = rqstp->rq_cred.cr_flavor;

	return flavor < RPC_AUTH_GSS || flavor == RPC_AUTH_TLS ||
	       flavor == RPC_AUTH_GSS_KRB5;
}

static bool rpcrdma_svc_word_is(const struct xdr_buf *xdr, u32 offset,
				u32 value)
{
	__be32 word;

	return !read_bytes_from_xdr_buf(xdr, offset, &word, sizeof(word)) &&
	       word == cpu_to_be32(value);
}

/* The result of an operation of NFSv4 that begins at @offset. */
static bool rpcrdma_svc_op_is(const struct svc_rqst *rqstp,
			      const struct xdr_buf *xdr, u32 offset, u32 op)
{
	return rqstp->rq_vers < 4 || (rpcrdma_svc_word_is(xdr, offset, op) &&
				      rpcrdma_svc_word_is(xdr, offset + XDR_UNIT,
							  NFS4_OK));
}

/**
 * rpcrdma_svc_results - which results of a Reply may leave its Payload stream?
 * @rqstp: the Call
 * @call: the same; what nfsd has said of its results, see rpcrdma_svc_result_payload(). It has
 *	Write chunks or directions
 * @xdr: the Reply
 *
 * A result is the content of a variable-length opaque, so its length is the
 * word before it. nfsd's READLINK of NFSv4 reports the offset of that word
 * instead of the next one; this function corrects it. READ_PLUS reports
 * data that is not DDP-eligible; it is skipped. Any other result stays in the
 * Payload stream, with all later ones.
 *
 * Return: how many; they are the first ones of @call->results then.
 */
u32 rpcrdma_svc_results(const struct svc_rqst *rqstp,
			struct rpcrdma_svc_call *call,
			const struct xdr_buf *xdr)
{
	struct rpcrdma_range *r;
	u32 i, n = 0;

	if (!rpcrdma_svc_reducible(rqstp))
		return 0;
	for (i = 0; i < call->n_results; i++) {
		r = &call->results[i];
		if (r->offset >= 4 * XDR_UNIT &&
		    rpcrdma_svc_word_is(xdr, r->offset - XDR_UNIT, r->length)) {
			/* operation, status, end of file, length */
			if (rpcrdma_svc_op_is(rqstp, xdr,
					      r->offset - 4 * XDR_UNIT,
					      OP_READ))
				call->results[n++] = *r;
			continue;
		}
		/* operation, status, length */
		if (r->offset < 2 * XDR_UNIT ||
		    !rpcrdma_svc_word_is(xdr, r->offset, r->length) ||
		    !rpcrdma_svc_op_is(rqstp, xdr, r->offset - 2 * XDR_UNIT,
				       OP_READLINK))
			break;
		call->results[n] = *r;
		call->results[n++].offset += XDR_UNIT;
	}
	return n;
}

/**
 * rpcrdma_svc_result_payload - nfsd has encoded a DDP-eligible result
 * @rqstp: the Call
 * @offset: where it is in the Reply
 * @length: bytes without XDR padding
 *
 * Results come in the order of the Reply. If the offset does not grow, nfsd encodes
 * the Reply again, after a deferral.
 *
 * Return: 0.
 */
int rpcrdma_svc_result_payload(struct svc_rqst *rqstp, unsigned int offset,
			       unsigned int length)
{
	struct rpcrdma_svc_call *call = rqstp->rq_xprt_ctxt;
	struct rpcrdma_range *r;

	if (!call)
		return 0;
	if (call->n_results && offset <= call->results[call->n_results - 1].offset)
		call->n_results = 0;
	/* Further ones stay in the Payload stream. */
	if (call->n_results == RPCRDMA_MAX_CHUNKS)
		return 0;
	r = &call->results[call->n_results++];
	r->offset = offset;
	r->length = length;
	return 0;
}
