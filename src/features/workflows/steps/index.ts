import { type StepRegistry, stepRegistry } from '../../../engine/step.ts'
import { addNote } from './add-note.ts'
import { addTag } from './add-tag.ts'
import { addToGroup } from './add-to-group.ts'
import { ai } from './ai.ts'
import { ask } from './ask.ts'
import { assign } from './assign.ts'
import { branch } from './branch.ts'
import { closeConversation } from './close-conversation.ts'
import { emit } from './emit.ts'
import { goto } from './goto.ts'
import { handoff } from './handoff.ts'
import { http, httpWithLoopback } from './http.ts'
import { loop } from './loop.ts'
import { removeFromGroup } from './remove-from-group.ts'
import { removeTag } from './remove-tag.ts'
import { runWorkflow } from './run-workflow.ts'
import { sendMessage } from './send-message.ts'
import { set } from './set.ts'
import { setConsent } from './set-consent.ts'
import { split } from './split.ts'
import { stop } from './stop.ts'
import { tool } from './tool.ts'
import { updateContact } from './update-contact.ts'
import { waitForEvent } from './wait-for-event.ts'
import { waitForReply } from './wait-for-reply.ts'
import { wait } from './wait.ts'

/** What a workflow can do, by type. */
export const stepTypes = stepRegistry([
  sendMessage,
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
  goto,
  stop,
  http,
  tool,
  ai,
])

/** What a definition is checked against where this very machine may be called. */
export const stepTypesWithLoopback: StepRegistry = new Map([...stepTypes, [httpWithLoopback.type, httpWithLoopback]])
