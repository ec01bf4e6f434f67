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
      original: 'window_expires_at = greatest(window_expires_at, x.expires_at)',
      mutated: 'window_expires_at = x.expires_at',
    },
    {
      name: 'the last inbound time goes back when an older message arrives late',
      file: TOUCH,
      original: `last_inbound_at = greatest(last_inbound_at, x.at), window_expires_at`,
      mutated: 'last_inbound_at = x.at, window_expires_at',
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
      original: 'return messages.filter(({ id }) => insertedIds.has(id))',
      mutated: 'return insertedIds.size > 0 ? messages : []',
    },
    {
      name: 'a message that arrives again is stored again',
      file: 'src/features/inbound/insert-inbound.ts',
      original: ' join new_ids on new_ids.message_id = i.id',
      mutated: ' left join new_ids on new_ids.message_id = i.id',
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
      original: "where tenant_id = ? and channel_id = ? and kind in ('phone', 'bsuid') and value = any(?)",
      mutated: "where tenant_id = ? and ?::text is not null and kind in ('phone', 'bsuid') and value = any(?)",
      tests: ['integration/channels/phone-spellings.test.ts'],
    },
    {
      name: 'senders are looked up in all tenants',
      file: SENDERS,
      original: 'select null, phone_key, id from contacts where tenant_id = ? and phone_key = any(?)',
      mutated: 'select null, phone_key, id from contacts where ?::text is not null and phone_key = any(?)',
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
  ],
}
