import type { Area } from '../mutant.ts'

const CANDIDATES = 'src/features/broadcasts/audience/candidates.ts'
const DECIDE = 'src/features/broadcasts/audience/decide-recipients.ts'
const PAUSE = 'src/features/broadcasts/sending/send-batch.ts'
const PICK = 'src/features/broadcasts/sending/pick-recipients.ts'
const QUEUE = 'src/features/broadcasts/sending/queue-batch.ts'

export const BROADCASTS: Area = {
  name: 'broadcasts',
  tests: ['integration/broadcasts/broadcast-contacts.test.ts', 'integration/broadcasts/broadcast-audience.test.ts'],
  mutants: [
    {
      name: 'a recipient who is no longer pending is sent the message',
      file: QUEUE,
      original: "r.id = x.id and ${allowsRecipientSql('start')}",
      mutated: 'r.id = x.id',
      equivalent:
        'Without the lock of the broadcast only the deletion of the contact changes a pending recipient, and it leaves no conversation',
    },
    {
      name: 'a recipient whose message the provider had accepted is retried',
      file: 'src/features/broadcasts/start-broadcast.ts',
      original: ` and provider_message_id is null
         and accepted_count = 0 and address is not null`,
      mutated: ' and address is not null',
      tests: ['integration/broadcasts/broadcast-sending.test.ts'],
    },
    {
      name: 'the deletion of a contact withdraws a message that was tried',
      file: 'src/features/broadcast-recipients/erase-recipients.ts',
      original: ' and o.leased_at is null and o.attempts = 0',
      mutated: ' and o.leased_at is null',
    },
    {
      name: 'a pause keeps the attempts of messages that it withdraws',
      file: 'src/features/broadcasts/sending/withdraw-recipients.ts',
      original: 'attempt = r.attempt - (not ${isFinal})::int',
      mutated: 'attempt = r.attempt - (not ${isFinal} and false)::int',
    },
    {
      name: 'a skipped recipient of an earlier portion takes its address from others',
      file: CANDIDATES,
      original: 'and r.address = x.address and r.skip_reason is null)',
      mutated: 'and r.address = x.address)',
      tests: ['integration/broadcasts/broadcast-audience.test.ts'],
    },
    {
      name: 'a skipped recipient of a portion takes its address from others',
      file: DECIDE,
      original: 'if (skipReason === null && candidate.address !== null) addresses.add(candidate.address)',
      mutated: 'if (candidate.address !== null) addresses.add(candidate.address)',
      tests: ['integration/broadcasts/broadcast-audience.test.ts'],
    },
    {
      name: 'failures before a resumption pause a broadcast again',
      file: PAUSE,
      original: 'counts[name] - (before[name] ?? 0)',
      mutated: 'counts[name] - 0 * (before[name] ?? 0)',
      tests: ['integration/broadcasts/broadcast-pauses.test.ts'],
    },
    {
      name: 'people in their service window use up the messaging limit',
      file: QUEUE,
      original: '!isWindowOpen(conversation.windowExpiresAt, now)',
      mutated: '(isWindowOpen(conversation.windowExpiresAt, now) || true)',
      tests: ['integration/broadcasts/broadcast-pauses.test.ts'],
    },
    {
      name: 'a further message to a recipient whose first one turns out to be accepted is sent',
      file: 'src/features/broadcast-recipients/sync-recipients.ts',
      original: 'rows.flatMap(({ id, isRepeated }) => (isRepeated ? [id] : []))',
      mutated: 'rows.flatMap(({ id, isRepeated }) => (isRepeated && false ? [id] : []))',
    },
    {
      name: 'an error of the channel from before a broadcast was started pauses it',
      file: 'src/features/broadcasts/sending/run-broadcasts.ts',
      original: "      .where('updatedAt', '<=', alert.at)\n",
      mutated: '',
      tests: ['integration/broadcasts/broadcast-pauses.test.ts'],
    },
    {
      name: 'the first of several errors of the channel is the reason of a pause',
      file: 'src/features/broadcast-recipients/channel-alerts.ts',
      original: 'order by created_at desc, id desc limit 1',
      mutated: 'order by created_at, id limit 1',
      tests: ['integration/broadcasts/broadcast-pauses.test.ts'],
    },
    {
      name: 'the messaging limit forgets the oldest hour before 24 hours are over',
      file: 'src/features/broadcast-recipients/messaging-limit.ts',
      original: 'addMs(tx.now(), -DAY - HOUR)',
      mutated: 'addMs(tx.now(), -DAY)',
      tests: ['integration/broadcasts/broadcast-pauses.test.ts'],
    },
    {
      name: 'a contact without a time zone is sent messages in the quiet hours of its country',
      file: CANDIDATES,
      original: 'timezone: zone ?? row.timezone',
      mutated: 'timezone: row.timezone',
      tests: ['integration/broadcasts/broadcast-schedule.test.ts'],
    },
    {
      name: 'a recipient without a time zone is sent its message in quiet hours',
      file: PICK,
      original: 'const quietUntil = quietEnds.get(row.timezone)',
      mutated: 'const quietUntil = row.timezone === null ? undefined : quietEnds.get(row.timezone)',
      equivalent:
        'A recipient is stored with the zone of its contact, of the country or of the workspace, which has one',
    },
    {
      name: 'a message that a pause withdraws counts for the limit of its contact',
      file: 'src/features/outbound/queue-messages.ts',
      original: 'queuedAt.getTime() + PAIR_MS - nowMs',
      mutated: '0 * (queuedAt.getTime() + PAIR_MS - nowMs)',
      tests: ['integration/broadcasts/broadcast-pair-limit.test.ts'],
    },
    {
      name: 'a message that was withdrawn late shortens the wait after others',
      file: 'src/features/outbound/queue-messages.ts',
      original: 'queuedAt.getTime() + PAIR_MS - nowMs',
      mutated: 'PAIR_MS + 0 * (queuedAt.getTime() - nowMs)',
      tests: ['integration/broadcasts/broadcast-pair-limit.test.ts'],
    },
  ],
}
