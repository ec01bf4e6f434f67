import { advance, type EngineHost } from '../../engine/advance.ts'
import type { Scope, SystemScope } from '../../scope.ts'
import { stepTypes } from '../workflows/steps/index.ts'
import { applyAdvance } from './apply-advance.ts'
import { loadConversations } from './load-conversations.ts'
import { loadMessages } from './load-messages.ts'
import { listPublished, loadVersions } from './published-workflows.ts'

/** Running twice, or at once in two processes, is safe: a conversation is locked, and its mail is taken once. */
export async function advanceConversations(system: SystemScope, { tenantId }: Record<string, string>): Promise<void> {
  if (!tenantId) throw new TypeError('the bell names no tenant')
  const host: EngineHost<Scope> = {
    registry: stepTypes,
    transaction: (id, work) => system.forTenant(id).transaction(work),
    loadConversations,
    loadMessages,
    listPublished,
    loadVersions,
    apply: applyAdvance,
    report: (error, about) => system.log.error({ err: error, ...about }, 'a conversation could not be brought forward'),
  }
  await advance(host, system.db, system, tenantId)
}
