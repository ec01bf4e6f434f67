import type { StoredRun } from '../../src/engine/model/stored-run.ts'
import type { Knex } from 'knex'
import { decide } from '../../src/engine/decide/decide.ts'
import type { EngineEvent } from '../../src/engine/model/decision.ts'
import { newRun } from '../../src/engine/model/new-run.ts'
import type { MessageFacts, StepRecord } from '../../src/engine/model/run.ts'
import { saveRuns, saveSteps, saveWaits } from '../../src/features/automation/store/run-store.ts'
import { isWorkflowEffect, type WorkflowEffect } from '../../src/steps/effects.ts'
import { workflowLanguage } from '../../src/workflow-language.ts'
import { addMs, DAY, HOUR, MINUTE } from '../../src/platform/time.ts'
import { CONTACTS, DEMO, demoId } from './people.ts'
import { compileDemo, WORKFLOWS } from './workflows.ts'

type Line = { agoMs: number; from: 'customer' | 'agent'; body: string; starts?: keyof typeof WORKFLOWS }
type Script = { contact: number; lines: Line[]; unread?: number; status?: 'active' | 'closed' }

/** Some windows are open, some closed; some runs are finished, one waits, one failed. */
const SCRIPTS: Script[] = [
  {
    contact: 1,
    lines: [
      { agoMs: 3 * HOUR, from: 'customer', body: 'Oi, where is my order?', starts: 'orderStatus' },
      { agoMs: 3 * HOUR - 2 * MINUTE, from: 'customer', body: '4711' },
    ],
  },
  {
    contact: 2,
    unread: 1,
    lines: [
      { agoMs: 20 * MINUTE, from: 'customer', body: 'Bom dia! Quero saber do meu pedido', starts: 'orderStatus' },
    ],
  },
  {
    contact: 5,
    lines: [
      { agoMs: 5 * HOUR, from: 'customer', body: 'Hola, my order has not arrived', starts: 'orderStatus' },
      { agoMs: 5 * HOUR - MINUTE, from: 'customer', body: '1203' },
      {
        agoMs: 4 * HOUR,
        from: 'agent',
        body: 'Hola Elena, I looked it up myself: it was delivered to your neighbour.',
      },
    ],
  },
  { contact: 11, unread: 1, lines: [{ agoMs: 90 * MINUTE, from: 'customer', body: 'Guten Tag', starts: 'welcome' }] },
  {
    contact: 15,
    status: 'closed',
    lines: [{ agoMs: 3 * DAY, from: 'customer', body: 'Hello, do you ship to Leeds?', starts: 'welcome' }],
  },
  { contact: 16, lines: [{ agoMs: 26 * HOUR, from: 'customer', body: 'stop', starts: 'optOut' }] },
]

let messages = 0

export async function seedConversations(tx: Knex, now: Date): Promise<void> {
  messages = 0
  for (const [index, script] of SCRIPTS.entries()) await playScript(tx, { script, n: index + 1, now })
}

/** Plays the script through the engine, so that its runs are runs that go on. */
async function playScript(tx: Knex, { script, n, now }: { script: Script; n: number; now: Date }): Promise<void> {
  const contact = CONTACTS[script.contact - 1] as (typeof CONTACTS)[number]
  const conversationId = demoId('conversation', n)
  const rows: Record<string, unknown>[] = []
  const steps: { runId: string; step: StepRecord }[] = []
  let run: StoredRun | undefined
  for (const line of script.lines) {
    const at = addMs(now, -line.agoMs)
    const message = messageRow({ conversationId, contactId: contact.id, at, line })
    rows.push(message)
    if (line.from === 'agent') continue
    const facts: MessageFacts = { id: message.id, body: line.body, type: 'text', at: at.toISOString() }
    const event: EngineEvent = line.starts ? { type: 'started' } : { type: 'reply', message: facts }
    run ??= demoRun({ n, script, conversationId, message: facts, workflow: WORKFLOWS[line.starts ?? 'welcome'], at })
    const workflow = Object.values(WORKFLOWS).find(({ id }) => id === run?.workflowId) as typeof WORKFLOWS.welcome
    const conversation = { id: conversationId, canSendFreeform: true, windowExpiresAt: addMs(at, DAY).toISOString() }
    const known = {
      contact: { ...contact, tags: [] },
      conversation,
      workspace: { name: 'Casa Verde', timezone: 'America/Sao_Paulo' },
    }
    const decision = decide({
      compiled: compileDemo(workflow),
      run: run.state,
      event,
      facts: { ...known, workflow: { id: workflow.id, name: workflow.name, version: 1 } },
      now: at,
      registry: workflowLanguage,
    })
    run.state = decision.run
    run.wakeAt = decision.wait?.wakeAt ?? null
    steps.push(...decision.steps.map((step) => ({ runId: decision.run.id, step })))
    for (const { stepId, effect } of decision.effects) {
      if (!isWorkflowEffect(effect) || effect.type !== 'send_message') continue
      run.messagesSent += 1
      rows.push(answerRow({ conversationId, contactId: contact.id, at, stepId, run, effect }))
    }
  }
  await insertConversation(tx, { script, conversationId, contactId: contact.id, rows, now })
  const store = { tenantId: DEMO.workspaceId, db: tx, now: () => now }
  if (run) {
    await saveRuns(store, [run])
    await saveWaits(store, [run])
  }
  await tx('messages').insert(rows)
  await saveSteps(store, steps)
}

type Start = {
  n: number
  script: Script
  conversationId: string
  message: MessageFacts
  workflow: typeof WORKFLOWS.welcome
  at: Date
}

function demoRun({ n, script, conversationId, message, workflow, at }: Start): StoredRun {
  const type = workflow.id === WORKFLOWS.welcome.id ? 'conversation_opened' : 'message_received'
  const published = { workflowId: workflow.id, name: workflow.name, version: 1, compiled: compileDemo(workflow) }
  const beginning = {
    id: demoId('run', n),
    trigger: { type, messageId: message.id },
    eventId: demoId('event', n),
    contactId: demoId('contact', script.contact),
    conversationId,
    message,
  }
  return newRun(published, beginning, at)
}

function messageRow({
  conversationId,
  contactId,
  at,
  line,
}: {
  conversationId: string
  contactId: string
  at: Date
  line: Line
}) {
  messages += 1
  const isInbound = line.from === 'customer'
  const arrived = { sent_at: at, delivered_at: at }
  return {
    tenant_id: DEMO.workspaceId,
    id: demoId('message', messages),
    conversation_id: conversationId,
    contact_id: contactId,
    channel_id: DEMO.sandboxId,
    direction: isInbound ? 'inbound' : 'outbound',
    type: 'text',
    body: line.body,
    status: isInbound ? 'received' : 'delivered',
    sender: JSON.stringify(
      isInbound ? { type: 'contact', id: contactId, name: null } : { type: 'user', id: DEMO.userId, name: 'Dana Demo' },
    ),
    provider_at: isInbound ? at : null,
    ...(isInbound ? {} : arrived),
    created_at: at,
    updated_at: at,
  }
}

type Answered = {
  conversationId: string
  contactId: string
  at: Date
  stepId: string
  run: StoredRun
  effect: WorkflowEffect<'send_message'>
}

function answerRow({ conversationId, contactId, at, stepId, run, effect }: Answered) {
  return {
    ...messageRow({
      conversationId,
      contactId,
      at: addMs(at, 1),
      line: { agoMs: 0, from: 'agent', body: effect.body ?? '' },
    }),
    id: effect.messageId,
    sender: JSON.stringify({ type: 'workflow', id: run.workflowId, name: null }),
    run_id: run.state.id,
    step_id: stepId,
  }
}

async function insertConversation(
  tx: Knex,
  {
    script,
    conversationId,
    contactId,
    rows,
    now,
  }: {
    script: Script
    conversationId: string
    contactId: string
    rows: Record<string, unknown>[]
    now: Date
  },
): Promise<void> {
  const last = rows.at(-1) as { id: string; body: string; direction: string; created_at: Date }
  const inbound = rows.filter(({ direction }) => direction === 'inbound').at(-1) as { created_at: Date }
  const { id, body, direction, created_at: at } = last
  const isHuman = script.lines.some(({ from }) => from === 'agent')
  const isClosed = script.status === 'closed'
  await tx('conversations').insert({
    tenant_id: DEMO.workspaceId,
    id: conversationId,
    contact_id: contactId,
    channel_id: DEMO.sandboxId,
    status: script.status ?? 'active',
    closed_at: isClosed ? addMs(now, -2 * DAY) : null,
    unread_count: script.unread ?? 0,
    last_message: JSON.stringify({ id, body, direction, type: 'text', at: at.toISOString() }),
    last_message_at: at,
    last_inbound_at: inbound.created_at,
    window_expires_at: addMs(inbound.created_at, DAY),
    automation_state: isHuman ? 'paused' : 'on',
    automation_reason: isHuman ? 'human_reply' : null,
    created_at: rows[0]?.['created_at'],
    updated_at: at,
  })
  await tx('contacts')
    .where({ tenant_id: DEMO.workspaceId, id: contactId })
    .update({ last_inbound_at: inbound.created_at, last_outbound_at: at })
  const identity = { tenant_id: DEMO.workspaceId, contact_id: contactId, channel_id: DEMO.sandboxId, kind: 'phone' }
  const contact = CONTACTS.find(({ id: known }) => known === contactId)
  await tx('contact_identities').insert({
    ...identity,
    id: demoId('conversation', 1000 + script.contact),
    value: contact?.phone,
    created_at: at,
  })
}
