import { stepRegistry } from '../../../engine/step.ts'
import { addTag } from './add-tag.ts'
import { ask } from './ask.ts'
import { branch } from './branch.ts'
import { handoff } from './handoff.ts'
import { loop } from './loop.ts'
import { removeTag } from './remove-tag.ts'
import { runWorkflow } from './run-workflow.ts'
import { sendMessage } from './send-message.ts'
import { set } from './set.ts'
import { stop } from './stop.ts'
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
  set,
  addTag,
  removeTag,
  updateContact,
  handoff,
  runWorkflow,
  stop,
])
