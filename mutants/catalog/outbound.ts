import type { Area } from '../mutant.ts'

const CLAIM = 'src/features/outbound/claim-messages.ts'
const SETTLE = 'src/features/outbound/settle-messages.ts'
const STATUSES = 'src/features/outbound/statuses/apply-statuses.ts'
const EARLY = 'src/features/outbound/statuses/attach-early-statuses.ts'
const PROMOTE = 'src/features/outbound/promote-statuses.ts'
const RECONCILE = 'src/features/outbound/reconcile-outbox.ts'

export const OUTBOUND: Area = {
  name: 'outbound',
  tests: [
    'integration/channels/claims.test.ts',
    'integration/channels/late-statuses.test.ts',
    'integration/channels/send-retries.test.ts',
    'integration/channels/status-webhooks.test.ts',
    'integration/channels/whatsapp-doubts.test.ts',
    'integration/channels/whatsapp-conversation.test.ts',
    'integration/channels/message-order.test.ts',
  ],
  mutants: [
    {
      name: 'a message overtakes an earlier one of its conversation that has not been settled',
      file: CLAIM,
      original: 'and e.message_id < o.message_id offset 0)',
      mutated: 'and e.message_id < o.message_id and false offset 0)',
    },
    {
      name: 'a message is claimed before its retry is due',
      file: CLAIM,
      original: 'o.leased_at is null and o.not_before <= ${now}\n         and not exists',
      mutated: 'o.leased_at is null\n         and not exists',
    },
    {
      name: 'a message that was postponed while the claim waited is claimed',
      file: CLAIM,
      original: 'and o.not_before <= ${now}\n       returning',
      mutated: 'returning',
    },
    {
      name: 'two workers claim one message',
      file: 'src/features/outbound/message-status.ts',
      original: "claim: { from: ['queued'], to: 'sending' }",
      mutated: "claim: { from: ['queued', 'sending'], to: 'sending' }",
    },
    {
      name: 'a message gets a sixth attempt',
      file: SETTLE,
      original: 'const ATTEMPTS_MAX = 5',
      mutated: 'const ATTEMPTS_MAX = 6',
    },
    {
      name: 'a message gets only four attempts',
      file: SETTLE,
      original: 'const ATTEMPTS_MAX = 5',
      mutated: 'const ATTEMPTS_MAX = 4',
    },
    {
      name: 'an error of the channel uses up the attempts of a message',
      file: SETTLE,
      original: `message.attempt >= attemptsMax && result.scope === 'recipient'`,
      mutated: 'message.attempt >= attemptsMax',
    },
    {
      name: 'what was accepted with replaced credentials is sent again',
      file: SETTLE,
      original: "if (isOutdated && result.kind === 'stopped') {",
      mutated: "if (isOutdated && (result.kind === 'stopped' || result.kind === 'accepted')) {",
      tests: ['integration/channels/delivery-in-progress.test.ts'],
    },
    {
      name: 'a channel that is stopped is tried again at once',
      file: SETTLE,
      original: 'if (pause) await rescheduleOutbox(',
      mutated: 'if (pause && !pause.isStopped) await rescheduleOutbox(',
    },
    {
      name: 'a channel that is stopped is not degraded',
      file: SETTLE,
      original: 'if (pause?.isStopped) await degradeChannel(tx, channel.id, pause.reason)',
      mutated: '',
    },
    {
      name: 'a late outcome of an earlier claim releases the current one',
      file: SETTLE,
      original: 'and o.attempts = input.attempt',
      mutated: '',
    },
    {
      name: 'statuses that arrived before the response are not applied',
      file: 'src/features/outbound/deliver-messages.ts',
      original: 'await attachEarlyStatuses(scope, channel.id, providerMessageIds)',
      mutated: '',
    },
    {
      name: 'statuses that are stored while the response is stored are not applied',
      file: STATUSES,
      original: 'await attachEarlyStatuses(scope, channelId, early)',
      mutated: '',
      tests: ['integration/channels/early-statuses.test.ts'],
    },
    {
      name: 'statuses that arrived before the response are applied on other channels',
      file: EARLY,
      original: 'where s.tenant_id = ${scope.tenantId} and s.channel_id = ${channelId}',
      mutated: 'where s.tenant_id = ${scope.tenantId}',
    },
    {
      name: 'a status that arrived before the response opts nobody out',
      file: EARLY,
      original: 'await applyProviderOptOuts(tx, channelId, early)',
      mutated: '',
      tests: ['integration/channels/provider-consent.test.ts'],
    },
    {
      name: 'an accepted message stays in the outbox',
      file: SETTLE,
      original: 'o.message_id = input.id)\n     update messages m set provider_message_id',
      mutated: 'o.message_id = input.id and false)\n     update messages m set provider_message_id',
    },
    {
      name: 'the backoff of a recipient does not grow',
      file: SETTLE,
      original: '4 ** (message.attempt - 1)',
      mutated: '1',
    },
    {
      name: 'a status applies to a message of another tenant',
      file: STATUSES,
      original: 'left join messages m on m.tenant_id = ${tenantId} and m.channel_id = ${channelId} and m.id = x.own_id',
      mutated: 'left join messages m on m.channel_id = ${channelId} and m.id = x.own_id',
    },
    {
      name: 'a status applies to a message of another channel',
      file: STATUSES,
      original: 'left join messages m on m.tenant_id = ${tenantId} and m.channel_id = ${channelId} and m.id = x.own_id',
      mutated: 'left join messages m on m.tenant_id = ${tenantId} and m.id = x.own_id',
    },
    {
      name: 'a status applies to messages of all tenants and channels',
      file: STATUSES,
      original: 'left join messages m on m.tenant_id = ${tenantId} and m.channel_id = ${channelId} and m.id = x.own_id',
      mutated: 'left join messages m on m.id = x.own_id',
    },
    {
      name: 'a status applies to an inbound message',
      file: STATUSES,
      original: `and m.direction = 'outbound'\n       on conflict`,
      mutated: '\n       on conflict',
    },
    {
      name: 'a status that arrives twice is recorded twice',
      file: STATUSES,
      original: 'on conflict (tenant_id, channel_id, provider_message_id, status) do nothing',
      mutated: '',
      tests: ['integration/channels/status-webhooks.test.ts'],
    },
    {
      name: 'a status is looked up on other channels',
      file: STATUSES,
      original: 'and r.channel_id = ${channelId} and r.provider_message_id = x.provider_message_id',
      mutated: 'and r.provider_message_id = x.provider_message_id',
    },
    {
      name: 'a message that was reported as sent stays in the outbox',
      file: PROMOTE,
      original: 'reported.is_sent)',
      mutated: 'false)',
    },
    {
      name: 'a late status replaces the time of an earlier one',
      file: PROMOTE,
      original: 'read_at = coalesce(m.read_at, reported.read_at)',
      mutated: 'read_at = coalesce(reported.read_at, m.read_at)',
      equivalent: 'A status is stored once, so the reported time is the stored one',
    },
    {
      name: 'each status is recorded again when another one arrives',
      file: PROMOTE,
      original: 'rows.filter(({ status, previousStatus }) => status !== previousStatus)',
      mutated: 'rows',
    },
    {
      name: 'a delivered message becomes failed',
      file: 'src/features/outbound/message-status.ts',
      original: `const PROVIDER_RANKS = ['sent', 'failed', 'delivered', 'read', 'played']`,
      mutated: `const PROVIDER_RANKS = ['sent', 'delivered', 'failed', 'read', 'played']`,
    },
    {
      name: 'the delivery is declared unknown while the provider may still answer',
      file: CLAIM,
      original: 'export const CLAIM_MS = 2 * MINUTE',
      mutated: 'export const CLAIM_MS = MINUTE / 2',
    },
    {
      name: 'a message that its process settles meanwhile is declared unknown',
      file: RECONCILE,
      original: 'and id = ${messageId} for no key update`',
      mutated: 'and id = ${messageId}`',
    },
    {
      name: 'a claim that was renewed meanwhile is declared unknown',
      file: RECONCILE,
      original: `    .where('leased_at', '<', leasedBefore)\n`,
      mutated: '',
    },
    {
      name: 'a blocked contact gets a message that was queued before',
      file: 'src/features/outbound/deliver-messages.ts',
      original: `if (obstacle === 'contact_blocked') return CONTACT_BLOCKED`,
      mutated: '',
      tests: ['integration/engine/blocked-contacts.test.ts'],
    },
    {
      name: 'a message is sent after its window has closed',
      file: 'src/features/outbound/deliver-messages.ts',
      original: 'if (isOutsideWindow) return WINDOW_CLOSED',
      mutated: '',
    },
    {
      name: 'the outcome of a send is dropped when the database fails once',
      file: 'src/features/outbound/deliver-messages.ts',
      original: 'isRetryable: isTransient,',
      mutated: 'isRetryable: () => false,',
    },
    {
      name: 'the other messages of a rate-limited channel are sent at once',
      file: SETTLE,
      original: 'if (pause) await rescheduleOutbox(',
      mutated: 'if (pause?.isStopped) await rescheduleOutbox(',
    },
    {
      name: 'a message goes to the newest phone number of a contact on its channel',
      file: CLAIM,
      original: "i.kind = 'phone' order by i.created_at limit 1",
      mutated: "i.kind = 'phone' order by i.created_at desc limit 1",
    },
  ],
}
