import { NotFoundError } from '../../platform/errors.ts'
import { isUuid } from '../../platform/ids.ts'
import type { Scope } from '../../scope.ts'
import { toRun, runQuery } from './run-rows.ts'
import type { Run, RunRef } from './schema.ts'

export async function getRun(scope: Scope, { runId }: RunRef): Promise<Run> {
  const row = isUuid(runId) ? await runQuery(scope).findOne('id', runId) : undefined
  if (!row) throw new NotFoundError('Run')
  return toRun(row)
}
