import { DeadLetter as DeadLetterRow } from '../../models/automation.ts'
import { sqlFragment } from '../../platform/database/statements/statement.ts'
import { definedFields, getField } from '../../platform/fields.ts'
import { NotFoundError } from '../../platform/errors.ts'
import { isUuid } from '../../platform/ids.ts'
import type { Scope } from '../../scope/scope.ts'
import type { SystemScope } from '../../scope/system-scope.ts'
import { EMPTY_PAGE, type Page } from '../../trpc/schemas.ts'
import { readPage } from '../paging/read-page.ts'
import type { DeadLetter, DeadLetterFilters, DeadLetterRef, ListDeadLetters } from './schema.ts'

/** A message has one item of its own, and few events. */
const MESSAGE_LETTERS_MAX = 10

const COUNT_MAX = 1000

/** Converts a row without the data in its payload. */
function toDeadLetter({ payload, kind: type, ...row }: DeadLetterRow): DeadLetter {
  const event = getField(payload, 'event')
  const name = type === 'signal' ? event : getField(event, 'type')
  return { ...row, type, messageId: toText(getField(payload, 'messageId')), event: toText(name) }
}

function toText(value: unknown): string | null {
  return typeof value === 'string' ? value : null
}

/** @throws NotFoundError */
export async function getDeadLetter(scope: Scope, { deadLetterId }: DeadLetterRef): Promise<DeadLetter> {
  const row = await scope.find(DeadLetterRow, deadLetterId)
  if (!row) throw new NotFoundError('Dead letter')
  return toDeadLetter(row)
}

/** Lists dead letters, those that failed last first. */
export async function listDeadLetters(scope: Scope, input: ListDeadLetters): Promise<Page<DeadLetter>> {
  if (isImpossible(input)) return EMPTY_PAGE
  const { type, contactId, conversationId } = input
  const page = await readPage<DeadLetterRow>(
    scope,
    {
      name: 'listDeadLetters',
      from: sqlFragment`dead_letters`,
      id: sqlFragment`t.id`,
      conditions: [
        ...(type === undefined ? [] : [sqlFragment`t.kind = ${type}`]),
        ...(contactId === undefined ? [] : [sqlFragment`t.contact_id = ${contactId}`]),
        ...(conversationId === undefined ? [] : [sqlFragment`t.conversation_id = ${conversationId}`]),
      ],
      order: { sort: '-failedAt', value: sqlFragment`t.failed_at`, kind: 'time', direction: 'desc' },
      item: { table: sqlFragment`dead_letters`, columns: () => sqlFragment`dead_letters.*` },
    },
    input,
  )
  return { ...page, items: page.items.map(toDeadLetter) }
}

/** Lists the dead letters of a message: the message itself, and events that belong to it. */
export async function listDeadLettersOfMessage(
  scope: Scope,
  { id, conversationId }: { id: string; conversationId: string },
): Promise<DeadLetter[]> {
  const rows: DeadLetterRow[] = await scope
    .query(DeadLetterRow)
    .where({ conversationId })
    .whereRaw(`payload ->> 'messageId' = ?`, [id])
    .orderBy(['failedAt', 'id'])
    .limit(MESSAGE_LETTERS_MAX)
  return rows.map(toDeadLetter)
}

export function countDeadLetters(scope: Scope, filters: DeadLetterFilters): Promise<number> {
  return scope.query(DeadLetterRow).where(toColumns(filters)).resultSize()
}

/** Converts filters to the columns that they compare. */
export function toColumns({ type: kind, contactId, conversationId }: DeadLetterFilters) {
  return definedFields({ kind, contactId, conversationId })
}

/** Returns true if no dead letter can match: a malformed ID is treated like an unknown one. */
export function isImpossible({ contactId, conversationId }: DeadLetterFilters): boolean {
  return [contactId, conversationId].some((id) => id !== undefined && !isUuid(id))
}

/** Logs how many dead letters there are, if any, so that operators can raise an alert. The count ends at 1000. */
export async function reportDeadLetters(system: Pick<SystemScope, 'acrossTenants' | 'log'>): Promise<void> {
  const [row] = await system.acrossTenants<{ count: number; workspaces: number }>('reportDeadLetters')`
      select count(*)::int as count, count(distinct tenant_id)::int as workspaces
     from (select tenant_id from dead_letters limit ${COUNT_MAX}) counted`
  if (row && row.count > 0)
    system.log.warn(
      { event: 'dead_letters_waiting', ...row, countMax: COUNT_MAX },
      'dead letters wait for a retry or discard',
    )
}
