import { Message as MessageRow } from '../../models/messaging.ts'
import type { Scope } from '../../scope/scope.ts'
import { explainInbound } from './explain-inbound.ts'
import { explainOutbound } from './explain-outbound.ts'
import type { ExplainMessage, Explanation } from './schema.ts'

/** Explains the causes and the effects of a message. */
export async function explainMessage(scope: Scope, { messageId }: ExplainMessage): Promise<Explanation> {
  const message = await scope.get(MessageRow, messageId)
  const explain = message.direction === 'inbound' ? explainInbound : explainOutbound
  return { messageId: message.id, ...(await explain(scope, message)) }
}
