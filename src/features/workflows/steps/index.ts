import { stepRegistry } from '../../../engine/step.ts'
import { addTag } from './add-tag.ts'
import { ask } from './ask.ts'
import { branch } from './branch.ts'
import { handoff } from './handoff.ts'
import { removeTag } from './remove-tag.ts'
import { sendMessage } from './send-message.ts'
import { set } from './set.ts'
import { stop } from './stop.ts'
import { updateContact } from './update-contact.ts'
import { waitForReply } from './wait-for-reply.ts'
import { wait } from './wait.ts'

/** What a workflow can do, by type. */
export const stepTypes = stepRegistry([
  sendMessage,
  ask,
  waitForReply,
  wait,
  branch,
  set,
  addTag,
  removeTag,
  updateContact,
  handoff,
  stop,
])
