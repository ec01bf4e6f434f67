import { markConversationRead, updateConversation } from '../../src/features/conversations/update-conversation.ts'
import { sendMessage } from '../../src/features/messages/send-message.ts'
import { sendAsCustomer } from '../../src/features/sandbox/send-as-customer.ts'
import { Conversation } from '../../src/models/messaging.ts'
import { DAY, HOUR, MINUTE } from '../../src/platform/time.ts'
import type { Scope } from '../../src/scope/scope.ts'
import type { Actor } from '../../src/scope/dependencies.ts'
import type { History } from './history.ts'
import { DEMO, demoId } from './ids.ts'

const SYSTEM: Actor = { type: 'system', id: null, name: null }

const ANA = demoId('contact', 1)
const BRUNO = demoId('contact', 2)
const ELENA = demoId('contact', 5)
const KLARA = demoId('contact', 11)
const OLIVIA = demoId('contact', 15)
const PETER = demoId('contact', 16)

/**
 * Plays what customers and the owner wrote, oldest first. In the end some service windows are open and some closed, and
 * runs are completed, failed and waiting.
 */
export async function seedConversations(history: History, owner: Actor): Promise<void> {
  const customer = (agoMs: number, contactId: string, body: string) =>
    history.act(agoMs, SYSTEM, (scope) => sendAsCustomer(scope, { contactId, body }))
  const agent = (agoMs: number, action: (scope: Scope) => Promise<unknown>) => history.act(agoMs, owner, action)
  const existing = (agoMs: number, contactId: string, conversationId: string) =>
    history.act(agoMs, SYSTEM, (scope) => insertConversation(scope, contactId, conversationId))

  const { conversationId: olivia } = await customer(3 * DAY, OLIVIA, 'Hello, do you ship to Leeds?')
  await agent(3 * DAY - HOUR, (scope) => markConversationRead(scope, { conversationId: olivia }))
  await agent(2 * DAY, (scope) => updateConversation(scope, { conversationId: olivia, status: 'closed' }))

  const peter = await existing(26 * HOUR, PETER, demoId('conversation', 6))
  await customer(26 * HOUR, PETER, 'Please send me no more offers')
  await agent(25 * HOUR, (scope) => markConversationRead(scope, { conversationId: peter }))

  const elena = await existing(5 * HOUR, ELENA, demoId('conversation', 3))
  await customer(5 * HOUR, ELENA, 'Hola, my order has not arrived')
  await customer(5 * HOUR - MINUTE, ELENA, '1203')
  await agent(4 * HOUR, async (scope) => {
    await markConversationRead(scope, { conversationId: elena })
    const body = 'Hola Elena, I looked it up myself: it was delivered to your neighbour.'
    await sendMessage(scope, { conversationId: elena, body })
  })

  const ana = await existing(3 * HOUR, ANA, demoId('conversation', 1))
  await customer(3 * HOUR, ANA, 'Oi, where is my order?')
  await customer(3 * HOUR - 2 * MINUTE, ANA, '4711')
  await agent(2 * HOUR, (scope) => markConversationRead(scope, { conversationId: ana }))

  await customer(90 * MINUTE, KLARA, 'Guten Tag')

  await existing(20 * MINUTE, BRUNO, demoId('conversation', 2))
  await customer(20 * MINUTE, BRUNO, 'Bom dia! Quero saber do meu pedido')
}

/**
 * Inserts an empty conversation under a fixed ID. A message does not open a conversation that exists, so the Welcome
 * workflow does not greet this customer.
 */
async function insertConversation(scope: Scope, contactId: string, conversationId: string): Promise<string> {
  const now = scope.now()
  await scope.query(Conversation).insert({
    id: conversationId,
    contactId,
    channelId: DEMO.sandboxId,
    status: 'active',
    createdAt: now,
    updatedAt: now,
  })
  return conversationId
}
