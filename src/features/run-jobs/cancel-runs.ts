import { toMailbox } from '../../engine/model/mailbox-key.ts'
import { ConflictError } from '../../platform/errors.ts'
import type { Scope } from '../../scope/scope.ts'
import { lockMailboxes } from '../automation/store/mailbox-store.ts'
import type { JobKind } from '../jobs/job-kind.ts'
import { cancelOpenRun } from '../runs/changes.ts'
import { applyToRun, readTargets, type Target } from './targets.ts'

/** Cancels runs as `cancelRun` does. Those that have finished meanwhile stay as they are. */
export const runsCancel: JobKind<Target> = {
  type: 'runs_cancel',
  role: 'admin',
  scope: 'runs:write',

  read: readTargets,

  async apply(tx, _job, targets) {
    await lockMailboxesOfRuns(tx, targets)
    const items = []
    for (const target of targets) {
      const item = await applyToRun(tx, target, (inner) => cancelTarget(inner, target))
      items.push(item)
    }
    return items
  },
}

async function cancelTarget(tx: Scope, { runId }: Target) {
  try {
    await cancelOpenRun(tx, runId)
    return { status: 'updated', targetId: runId } as const
  } catch (error) {
    if (error instanceof ConflictError && error.code === 'run_finished') {
      return { status: 'unchanged', targetId: runId } as const
    }
    throw error
  }
}

type Row = { id: string; contactId: string | null; conversationId: string | null; mailboxRunId: string | null }

/** Locks the mailboxes of all runs of a portion in their order, before each run locks its own again. */
async function lockMailboxesOfRuns(tx: Scope, targets: Target[]): Promise<void> {
  const rows = await tx.sql<Row>('listMailboxesOfRuns')`
    select id, contact_id, conversation_id, mailbox_run_id from runs
    where tenant_id = ${tx.tenantId} and id = any(${targets.map(({ runId }) => runId)})`
  await lockMailboxes(tx, rows.map(toMailbox))
}
