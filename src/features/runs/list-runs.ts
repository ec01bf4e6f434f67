import { Run as RunRow } from '../../models/run.ts'
import { given } from '../../platform/given.ts'
import { isUuid } from '../../platform/ids.ts'
import type { Scope } from '../../scope.ts'
import type { Page } from '../../trpc/wire.ts'
import { presentRun, runRows } from './run-rows.ts'
import type { ListRuns, Run } from './schema.ts'

export async function listRuns(scope: Scope, { limit, offset, ...filters }: ListRuns): Promise<Page<Run>> {
  const { workflowId, contactId, conversationId, replayOf } = filters
  const ids = [workflowId, contactId, conversationId, replayOf]
  if (ids.some((id) => id !== undefined && !isUuid(id))) return { items: [], total: 0 }
  const [total, rows] = await Promise.all([
    scope.query(RunRow).where(given(filters)).resultSize(),
    runRows(scope)
      .where(given(filters))
      .orderBy([
        { column: 'createdAt', order: 'desc' },
        { column: 'id', order: 'desc' },
      ])
      .limit(limit)
      .offset(offset),
  ])
  return { items: rows.map(presentRun), total }
}
