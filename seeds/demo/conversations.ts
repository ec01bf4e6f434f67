import { markConversationRead, updateConversation } from '../../src/features/conversations/update-conversation.ts'
import type { Scope } from '../../src/scope/scope.ts'
import type { SeededWorkspace } from '../../src/seed/seeded-workspace.ts'
import { demoId } from './ids.ts'

const ANA = { id: demoId('contact', 1) }
const BRUNO = { id: demoId('contact', 2) }
const ELENA = { id: demoId('contact', 5) }
const KLARA = { id: demoId('contact', 11) }
const OLIVIA = { id: demoId('contact', 15) }
const PETER = { id: demoId('contact', 16) }

/**
 * Plays what customers and the owner wrote, oldest first. In the end some service windows are open and some closed, and
 * runs are completed, failed and waiting. Conversations under fixed IDs are opened without a message, so that the Welcome
 * workflow does not greet their customers.
 */
export async function seedConversations(workspace: SeededWorkspace): Promise<void> {
  const { conversationId: olivia } = await workspace.message({
    ago: '72h',
    contact: OLIVIA,
    body: 'Hello, do you ship to Leeds?',
  })
  await workspace.act('71h', markRead(olivia))
  await workspace.act('48h', (scope) => updateConversation(scope, { conversationId: olivia, status: 'closed' }))

  const peter = await workspace.conversation({ ago: '26h', contact: PETER, id: demoId('conversation', 6) })
  await workspace.message({ contact: PETER, body: 'Please send me no more offers' })
  await workspace.act('25h', markRead(peter.id))

  const elena = await workspace.conversation({ ago: '300m', contact: ELENA, id: demoId('conversation', 3) })
  await workspace.message({ contact: ELENA, body: 'Hola, my order has not arrived' })
  await workspace.message({ ago: '299m', contact: ELENA, body: '1203' })
  await workspace.act('240m', markRead(elena.id))
  await workspace.message({
    conversation: elena,
    from: 'owner',
    body: 'Hola Elena, I looked it up myself: it was delivered to your neighbour.',
  })

  const ana = await workspace.conversation({ ago: '180m', contact: ANA, id: demoId('conversation', 1) })
  await workspace.message({ contact: ANA, body: 'Oi, where is my order?' })
  await workspace.message({ ago: '178m', contact: ANA, body: '4711' })
  await workspace.act('120m', markRead(ana.id))

  await workspace.message({ ago: '90m', contact: KLARA, body: 'Guten Tag' })

  await workspace.conversation({ ago: '20m', contact: BRUNO, id: demoId('conversation', 2) })
  await workspace.message({ contact: BRUNO, body: 'Bom dia! Quero saber do meu pedido' })
}

function markRead(conversationId: string): (scope: Scope) => Promise<unknown> {
  return (scope) => markConversationRead(scope, { conversationId })
}
