import { NotFoundError, UnauthorizedError } from '../../platform/errors.ts'
import type { InboundBatcher } from './inbound-batcher.ts'

type Call = {
  kind: string
  channelId: string
  method: 'GET' | 'POST'
  query: URLSearchParams
  header: (name: string) => string
  body: Buffer
}

type Answer = { status: number; body: string; type: string }

/**
 * What a provider tells us is believed when it is signed, and stored before it is acknowledged: without our 200 the
 * provider tells it again.
 */
export async function handleWebhook(work: InboundBatcher, call: Call): Promise<Answer> {
  const found = await work.findChannel(call.channelId)
  const { channel } = found
  if (channel.kind !== call.kind || channel.kind === 'sandbox') throw new NotFoundError('Channel')
  if (call.method === 'GET') {
    const answer = channel.adapter.answerHandshake(call.query)
    return answer === undefined
      ? { status: 403, body: 'Forbidden', type: 'text/plain' }
      : { status: 200, body: answer, type: 'text/plain' }
  }
  if (!channel.adapter.isGenuine(call.body, call.header)) throw new UnauthorizedError()
  const { messages, statuses } = channel.adapter.parse(call.body)
  await work.receiveMessages(found, messages)
  await work.applyStatuses(found, statuses)
  return { status: 200, body: '{}', type: 'application/json' }
}
