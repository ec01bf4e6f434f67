import { NotFoundError } from '../../platform/errors.ts'
import { listChanged } from '../../platform/fields.ts'
import { sqlFragment } from '../../platform/database/statements/statement.ts'
import type { Scope } from '../../scope/scope.ts'
import { forgetKeywordSettings } from '../consent/keyword-settings.ts'
import { moveSchedules } from '../schedules/move-schedules.ts'
import type { UpdateWorkspace, Workspace } from './schema.ts'

const COLUMNS = sqlFragment`id, name, timezone, language, country, created_at, updated_at`

/** @throws NotFoundError */
export async function getWorkspace(scope: Scope): Promise<Workspace> {
  const [workspace] = await scope.sql<Workspace>('getWorkspace')`
    select ${COLUMNS} from workspaces where id = ${scope.tenantId}`
  if (!workspace) throw new NotFoundError('Workspace')
  return workspace
}

/**
 * Changes the workspace. Everything reads it when it is needed, except schedules, whose next times are stored: those
 * without a time zone of their own move with the workspace.
 */
export function updateWorkspace(scope: Scope, input: UpdateWorkspace): Promise<Workspace> {
  return scope.transaction(async (tx) => {
    // No foreign key waits for this lock; publishing does, so that it does not store schedules in the former zone.
    const [existing] = await tx.sql<Workspace>('lockWorkspaceSettings')`
      select ${COLUMNS} from workspaces where id = ${tx.tenantId} for no key update`
    if (!existing) throw new NotFoundError('Workspace')
    tx.audit?.compareWith(existing)
    const { name = existing.name, timezone = existing.timezone } = input
    const { language = existing.language, country = existing.country } = input
    await tx.sql('updateWorkspace')`
      update workspaces set name = ${name}, timezone = ${timezone}, language = ${language}, country = ${country},
        updated_at = ${tx.now()}
      where id = ${tx.tenantId}`
    if (timezone !== existing.timezone) await moveSchedules(tx, { from: existing.timezone, to: timezone })
    if (language !== existing.language) forgetKeywordSettings(tx)
    const changed = listChanged(existing, { name, timezone, language, country })
    if (changed.length > 0) await tx.record({ type: 'workspace.updated', data: { workspaceId: tx.tenantId, changed } })
    return getWorkspace(tx)
  })
}
