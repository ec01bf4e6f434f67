import type { Area } from '../mutant.ts'

const TOUCH = 'src/features/inbound/touch-conversations.ts'
const SENDERS = 'src/features/inbound/resolve-senders.ts'

export const INBOUND: Area = {
  name: 'inbound',
  tests: [
    'integration/channels/whatsapp-conversation.test.ts',
    'integration/channels/inbound-batches.test.ts',
    'integration/channels/first-messages.test.ts',
    'integration/channels/status-webhooks.test.ts',
    'integration/api/main-job.test.ts',
    'integration/api/conversations.test.ts',
  ],
  mutants: [
    {
      name: 'the window goes back when an older message arrives late',
      file: TOUCH,
      original: 'window_expires_at = greatest(window_expires_at, to_timestamp',
      mutated: 'window_expires_at = (to_timestamp',
    },
    {
      name: 'the last inbound time goes back when an older message arrives late',
      file: TOUCH,
      original: 'last_message_at = ${now}, last_inbound_at = greatest(last_inbound_at, to_timestamp',
      mutated: 'last_message_at = ${now}, last_inbound_at = (to_timestamp',
    },
    {
      name: 'the older of two messages of one batch decides about the window',
      file: TOUCH,
      original: 'previous && previous.at > message.at ? previous.at : message.at',
      mutated: 'message.at',
    },
    {
      name: 'a batch counts one unread message per conversation',
      file: TOUCH,
      original: 'count: (previous?.count ?? 0) + 1',
      mutated: 'count: 1',
    },
    {
      name: 'a message that arrives twice is unread twice',
      file: 'src/features/inbound/insert-inbound.ts',
      original: 'messages.filter((entry) => isNew(entry) && !isDeleted(entry))',
      mutated: 'newIds.size > 0 ? messages : []',
    },
    {
      name: 'a message that arrives again is stored again',
      file: 'src/features/inbound/insert-inbound.ts',
      original: 'const isNew = ({ id }: NewInboundMessage) => newIds.has(id)',
      mutated: 'const isNew = ({ id }: NewInboundMessage) => newIds.has(id) || id.length > 0',
    },
    {
      name: 'conversations are not locked while messages are stored',
      file: 'src/features/conversations/ensure-conversations.ts',
      original: 'order by id for no key update`',
      mutated: 'order by id`',
      tests: ['integration/channels/message-order.test.ts'],
    },
    {
      name: 'unknown senders are not locked while their contacts are created',
      file: SENDERS,
      original: 'await lockPeople(tx, channelId, unknownPeople)',
      mutated: '',
    },
    {
      name: 'senders are looked up on all channels',
      file: SENDERS,
      original:
        "where tenant_id = ${tx.tenantId} and channel_id = ${channelId} and kind in ('phone', 'bsuid') and value = any(${values})",
      mutated: "where tenant_id = ${tx.tenantId} and kind in ('phone', 'bsuid') and value = any(${values})",
      tests: ['integration/channels/phone-spellings.test.ts'],
    },
    {
      name: 'senders are looked up in all tenants',
      file: SENDERS,
      original: 'from contacts where tenant_id = ${tx.tenantId} and phone_key = any(${phoneKeys})',
      mutated: 'from contacts where phone_key = any(${phoneKeys})',
    },
    {
      name: 'a stored identity of the channel gives way to the phone number of another contact',
      file: SENDERS,
      original: 'rows.toReversed().map(',
      mutated: 'rows.map(',
      equivalent: 'A contact that loses a phone number loses its identities too, so both are of the same contact',
    },
    {
      name: 'the first message of a closed conversation does not count as its first',
      file: 'src/features/inbound/receive-messages.ts',
      original: '(isNew || wasClosed) && !seen.has(conversationId)',
      mutated: 'isNew && !seen.has(conversationId)',
    },
    {
      name: 'every message of the batch that opens a conversation counts as its first',
      file: 'src/features/inbound/receive-messages.ts',
      original: '(isNew || wasClosed) && !seen.has(conversationId)',
      mutated: 'isNew || wasClosed',
    },
    {
      name: 'a consent keyword that replies to a broadcast starts workflows',
      file: 'src/features/inbound/receive-messages.ts',
      original: 'const offered = replies.filter(({ messageId }) => !keywords.has(messageId))',
      mutated: 'const offered = replies.filter(() => keywords.size >= 0)',
      tests: ['integration/broadcasts/broadcast-replies.test.ts'],
    },
    {
      name: 'a word that opts out and in opts in',
      file: 'src/features/consent/keywords.ts',
      original: "(['opted_out', 'opted_in'] as const).find(",
      mutated: "(['opted_in', 'opted_out'] as const).find(",
      tests: ['integration/engine/consent-keywords.test.ts'],
    },
    {
      name: 'a keyword of the greatest length is none',
      file: 'src/features/consent/keywords.ts',
      original: 'body.length > KEYWORD_LENGTH_MAX',
      mutated: 'body.length >= KEYWORD_LENGTH_MAX',
      tests: ['integration/engine/consent-keywords.test.ts'],
    },
    {
      name: 'a long message counts as a keyword',
      file: 'src/features/consent/keywords.ts',
      original: 'body === null || body.length > KEYWORD_LENGTH_MAX',
      mutated: 'body === null',
      tests: ['integration/engine/consent-keywords.test.ts'],
    },
    {
      name: 'preferences of one call are applied in the order in which they arrive',
      file: 'src/features/consent/provider-choices.ts',
      original: '.toSorted((a, b) => a.at.getTime() - b.at.getTime())',
      mutated: '',
      tests: ['integration/channels/provider-consent.test.ts'],
    },
    {
      name: 'a contact that is blocked with its twin keeps its runs',
      file: 'src/features/consent/carry-restrictions.ts',
      original: 'await cancelContactRuns(tx, toId)',
      mutated: '',
      tests: ['integration/channels/same-person.test.ts'],
    },
  ],
}
