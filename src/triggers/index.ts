import { triggerRegistry } from '../engine/model/trigger.ts'
import { broadcastReplied } from './broadcast-replied.ts'
import { contactUpdated } from './contact-updated.ts'
import { customEvent } from './custom-event.ts'
import { groupJoined, groupLeft } from './groups.ts'
import { messageReceived } from './message-received.ts'
import { schedule } from './schedule.ts'
import { api, contactCreated, conversationClosed, conversationOpened, manual } from './simple.ts'
import { tagAdded, tagRemoved } from './tags.ts'
import { webhook } from './webhook.ts'

/** Trigger types, in the order in which documentation lists them. */
export const triggerTypes = triggerRegistry([
  messageReceived,
  conversationOpened,
  conversationClosed,
  contactCreated,
  contactUpdated,
  tagAdded,
  tagRemoved,
  groupJoined,
  groupLeft,
  broadcastReplied,
  api,
  manual,
  schedule,
  webhook,
  customEvent,
])
