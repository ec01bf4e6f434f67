import type { WaitingFor } from '../engine/model/run.ts'
import { type StepRegistry, stepRegistry } from '../engine/model/step.ts'
import { addNote } from './conversations/add-note.ts'
import { addTag } from './contacts/add-tag.ts'
import { addToGroup } from './contacts/add-to-group.ts'
import { ai } from './external/ai.ts'
import { ask } from './messages/ask.ts'
import { assign } from './conversations/assign.ts'
import { branch } from './flow/branch.ts'
import { closeConversation } from './conversations/close-conversation.ts'
import { emit } from './flow/emit.ts'
import { goto } from './flow/goto.ts'
import { handoff } from './conversations/handoff.ts'
import { http, httpWithLoopback } from './external/http.ts'
import { loop } from './flow/loop.ts'
import { removeFromGroup } from './contacts/remove-from-group.ts'
import { removeTag } from './contacts/remove-tag.ts'
import { runWorkflow } from './flow/run-workflow.ts'
import { sendMessage } from './messages/send-message.ts'
import { sendTemplateStep } from './messages/send-template.ts'
import { set } from './flow/set.ts'
import { setConsent } from './contacts/set-consent.ts'
import { split } from './flow/split.ts'
import { stop } from './flow/stop.ts'
import { throttle } from './flow/throttle.ts'
import { tool } from './external/tool.ts'
import { updateContact } from './contacts/update-contact.ts'
import { waitForEvent } from './flow/wait-for-event.ts'
import { waitForReply } from './messages/wait-for-reply.ts'
import { wait } from './flow/wait.ts'

/** Step types, in the order in which documentation lists them. */
export const stepTypes = stepRegistry([
  sendMessage,
  sendTemplateStep,
  ask,
  waitForReply,
  wait,
  waitForEvent,
  branch,
  loop,
  split,
  set,
  updateContact,
  addTag,
  removeTag,
  addToGroup,
  removeFromGroup,
  setConsent,
  assign,
  handoff,
  runWorkflow,
  addNote,
  closeConversation,
  emit,
  throttle,
  goto,
  stop,
  http,
  tool,
  ai,
])

/** Lists the types of the steps that may wait for something. */
export function listStepTypes(awaits: WaitingFor): string[] {
  return [...stepTypes.values()].filter((step) => step.awaits === awaits).map(({ type }) => type)
}

/** The step types where calls to this machine are allowed. */
export const stepTypesWithLoopback: StepRegistry = new Map([...stepTypes, [httpWithLoopback.type, httpWithLoopback]])
