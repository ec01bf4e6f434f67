import { SECOND } from '../../src/platform/time.ts'
import { newId } from '../../src/platform/ids.ts'
import { sendAsCustomer } from '../factories.ts'
import type { ApiResponse, TestApp } from './app.ts'
import type { WorkspaceClient } from './workspace-client.ts'

/** Waits after each attempt at a mailbox item, except the last one. */
const BACKOFFS = [5, 15, 45, 135]

/** Works until every failing item has used up its attempts. */
export async function exhaustAttempts(app: TestApp): Promise<void> {
  await app.work()
  for (const seconds of BACKOFFS) {
    app.clock.advance(seconds * SECOND)
    await app.work()
  }
}

/** Lets every transaction fail that records a step, until `repair` is called. */
export async function breakSteps(app: TestApp): Promise<{ repair(): Promise<void> }> {
  await app.system.db.raw(`
    create function fail_step() returns trigger language plpgsql as
      $$ begin raise exception 'no step is saved for +4917012345678' using errcode = 'P0001'; end $$;
    create trigger fail_step before insert on run_steps execute function fail_step()`)
  return {
    async repair() {
      await app.system.db.raw('drop function fail_step cascade')
    },
  }
}

/** Sends a message whose processing fails at every attempt; returns the message. */
export async function deadLetterMessage(
  workspace: WorkspaceClient,
  message: Parameters<typeof sendAsCustomer>[1],
): Promise<ApiResponse['body']> {
  const { app } = workspace
  const broken = await breakSteps(app)
  const sent = await sendAsCustomer(workspace, message)
  await exhaustAttempts(app)
  await broken.repair()
  return sent
}

/** Puts an item into the mailbox of a conversation as it is, valid or not; returns its ID. */
export async function insertItem(
  { app, tenantId }: WorkspaceClient,
  conversationId: string,
  { kind, payload }: { kind: string; payload: object },
): Promise<string> {
  const [id, now] = [newId(), app.clock.now()]
  const row = { tenant_id: tenantId, mailbox_kind: 'conversation', mailbox_id: conversationId, id, kind, payload }
  await app.system.db('mailbox_items').insert({ ...row, due_at: now, created_at: now })
  return id
}

/** Stores a dead letter of a conversation directly; returns its ID. */
export async function insertDeadLetter(
  { app, tenantId }: WorkspaceClient,
  { contactId, conversationId }: { contactId: string; conversationId: string },
): Promise<string> {
  const [id, now] = [newId(), app.clock.now()]
  await app.system.db('dead_letters').insert({
    tenant_id: tenantId,
    mailbox_kind: 'conversation',
    mailbox_id: conversationId,
    id,
    kind: 'message',
    payload: {},
    contact_id: contactId,
    conversation_id: conversationId,
    error: { name: 'Error', code: 'internal', message: 'Failed' },
    attempts: 5,
    created_at: now,
    failed_at: now,
  })
  return id
}
