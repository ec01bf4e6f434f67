import { NotFoundError, UnauthorizedError } from '../../platform/errors.ts'
import { isUuid } from '../../platform/ids.ts'
import type { Scope, SystemScope } from '../../scope.ts'
import { applyStatuses } from '../conversations/apply-statuses.ts'
import { receiveMessages } from '../conversations/receive-messages.ts'
import { type LoadedChannel, loadChannel } from './load-channel.ts'

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
export async function answerWebhook(system: SystemScope, call: Call): Promise<Answer> {
  const { scope, channel } = await findChannel(system, call)
  if (call.method === 'GET') {
    const answer = channel.adapter.answerHandshake(call.query)
    return answer === undefined
      ? { status: 403, body: 'Forbidden', type: 'text/plain' }
      : { status: 200, body: answer, type: 'text/plain' }
  }
  if (!channel.adapter.isGenuine(call.body, call.header)) throw new UnauthorizedError()
  const { messages, statuses } = channel.adapter.parse(call.body)
  await receiveMessages(scope, { channelId: channel.id, messages })
  await applyStatuses(scope, { channelId: channel.id, statuses })
  return { status: 200, body: '{}', type: 'application/json' }
}

async function findChannel(
  system: SystemScope,
  { kind, channelId }: Call,
): Promise<{ scope: Scope; channel: LoadedChannel }> {
  const entry = isUuid(channelId)
    ? await system
        .db('channel_directory')
        .where('channel_id', channelId)
        .first<{ tenant_id: string } | undefined>('tenant_id')
    : undefined
  if (!entry) throw new NotFoundError('Channel')
  const scope = system.forTenant(entry.tenant_id)
  const channel = await loadChannel(scope, channelId)
  if (channel.kind !== kind || channel.kind === 'sandbox') throw new NotFoundError('Channel')
  return { scope, channel }
}
