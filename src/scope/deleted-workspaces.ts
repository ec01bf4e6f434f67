import type { SqlTag } from '../platform/database/sql.ts'
import { type SqlFragment, sqlFragment, sqlText } from '../platform/database/statements/statement.ts'
import type { Notifications } from '../platform/notifications/notifications.ts'

/** More than are ever deleted at once. One that is left out is found by the statements that claim its work. */
export const KNOWN_MAX = 10_000

/**
 * SQL condition that a workspace was not deleted, by its ID or the column with it. The statements that claim work have it,
 * so that nothing is claimed after the commit that deletes a workspace, whatever a process knows of it. The table is stored
 * with the rows of the workspace: with one that each node has a copy of, a distributed database would not execute these
 * statements on one node.
 */
export function isOpenSql(tenantId: string | SqlFragment): SqlFragment {
  return sqlFragment`not exists (select from deleted_workspaces gone where gone.tenant_id = ${tenantId})`
}

/** SQL of memberships `m` and their workspaces `w`: one of a deleted workspace gives no access any more. */
export const OPEN_MEMBERSHIPS = sqlFragment`(memberships m join workspaces w
  on w.id = m.workspace_id and w.deleted_at is null)`

/**
 * Locks a workspace until the transaction ends: changes of its members and keys are made one after the other. Returns false
 * if it was deleted. A shared lock would be a deadlock on a distributed database, where adding a secret locks the workspaces.
 */
export async function lockOpenWorkspace(tx: {
  tenantId: string
  sql: (name: string) => SqlTag<unknown>
}): Promise<boolean> {
  const open = await tx.sql('lockOpenWorkspace')`
    select from workspaces where id = ${tx.tenantId} and deleted_at is null for no key update`
  return open.length > 0
}

/**
 * The deleted workspaces whose rows are not purged yet, as far as this process knows: it does no work for them, also not
 * what needs no claim. It learns of them by notifications, and a worker also by reading them every few seconds.
 */
export class DeletedWorkspaces {
  #ids: ReadonlySet<string> = new Set()

  constructor(notifications: Pick<Notifications, 'subscribe'>) {
    notifications.subscribe('deletions', (id) => {
      if (id !== undefined && this.#ids.size < KNOWN_MAX) this.#ids = new Set(this.#ids).add(id)
    })
  }

  has(tenantId: string): boolean {
    return this.#ids.has(tenantId)
  }

  /**
   * SQL condition that the row `alias` is of none of them. A statement that reads a limited number of rows of all tenants has
   * it, as rows for which nothing is done would otherwise take the places of others.
   */
  exceptSql(alias: string): SqlFragment {
    return sqlFragment`${sqlText(alias)}.tenant_id <> all(${[...this.#ids]}::uuid[])`
  }

  /** Reads them, and forgets those that are purged. Of what is announced meanwhile nothing is lost. */
  async refresh(read: () => Promise<string[]>): Promise<string[]> {
    const before = this.#ids
    const ids = await read()
    const announced = [...this.#ids].filter((id) => !before.has(id))
    this.#ids = new Set([...announced, ...ids].slice(0, KNOWN_MAX))
    return ids
  }
}
