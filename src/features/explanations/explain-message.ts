import { Message as MessageRow } from '../../models/messaging/message.ts'
import type { Scope } from '../../scope.ts'
import { explainInbound } from './explain-inbound.ts'
import { explainOutbound } from './explain-outbound.ts'
import type { ExplainMessage, Explanation } from './schema.ts'

/** What led to a message, and what came of it. */
export async function explainMessage(scope: Scope, { messageId }: ExplainMessage): Promise<Explanation> {
  const message = await scope.get(MessageRow, messageId)
  const explained = message.direction === 'inbound' ? explainInbound : explainOutbound
  return { messageId: message.id, ...(await explained(scope, message)) }
}
