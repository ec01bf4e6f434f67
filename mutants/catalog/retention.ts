import type { Area } from '../mutant.ts'

const EXPIRED = 'src/features/retention/expired-rows.ts'

export const RETENTION: Area = {
  name: 'retention',
  tests: ['integration/api/retention.test.ts'],
  mutants: [
    {
      name: 'messages in the outbox are deleted',
      file: EXPIRED,
      original: 'and not exists (select from outbox o where o.tenant_id = ${tx.tenantId} and o.message_id = m.id)',
      mutated: '',
      equivalent:
        'A message is in the outbox if and only if it is queued or sending, and those are left out by their status',
    },
    {
      name: 'messages that wait to be sent are deleted',
      file: EXPIRED,
      original: "const UNFINISHED_MESSAGE = sqlFragment`('scheduled', 'queued', 'sending')`",
      mutated: "const UNFINISHED_MESSAGE = sqlFragment`('scheduled', 'queued')`",
    },
    {
      name: 'messages of a conversation with items to process are deleted',
      file: EXPIRED,
      original: 'i.tenant_id = ${tx.tenantId} and i.mailbox_id = m.conversation_id)',
      mutated: 'i.tenant_id = ${tx.tenantId} and i.mailbox_id = m.conversation_id and false)',
    },
    {
      name: 'messages of a run that goes on are deleted',
      file: EXPIRED,
      original: 'r.id = m.run_id and r.status in ${UNFINISHED_RUN})',
      mutated: 'r.id = m.run_id and false)',
    },
    {
      name: 'a run is deleted by its beginning and not by its end',
      file: EXPIRED,
      original: '      and r.finished_at < ${walk.before}\n',
      mutated: '',
    },
    {
      name: 'the deletion of messages waits for locks',
      file: EXPIRED,
      original: 'for update of m skip locked',
      mutated: 'for update of m',
    },
    {
      name: 'the deletion of runs waits for locks',
      file: EXPIRED,
      original: 'for update of r skip locked',
      mutated: 'for update of r',
    },
    {
      name: 'steps beyond the first portion are deleted with their runs, in one statement',
      file: 'src/features/automation/delete-history.ts',
      original: 'isDone = ids.length < tx.portions.history',
      mutated: 'isDone = true',
      tests: ['integration/api/large-deletions.test.ts'],
    },
    {
      name: 'messages of a long history are stored again when they are repeated after their deletion',
      file: 'src/features/automation/delete-history.ts',
      original: 'await keepDeletedIds(tx, ids)',
      mutated: '',
      tests: ['integration/channels/deleted-messages.test.ts'],
    },
    {
      name: 'a deleted message is stored again when it is repeated with a new one',
      file: 'src/features/inbound/insert-inbound.ts',
      original: '=> deletedIds.has(message.providerMessageId)',
      mutated: '=> deletedIds.has(message.providerMessageId) && false',
      tests: ['integration/channels/deleted-messages.test.ts'],
    },
    {
      name: 'the steps of the first portion are deleted for each further one',
      file: 'src/features/automation/delete-history.ts',
      original: 'last = ids.at(-1) ?? null',
      mutated: 'last = ids.at(0) ?? null',
      equivalent: 'The next portion begins one run later: all steps are deleted, in more statements',
    },
  ],
}
