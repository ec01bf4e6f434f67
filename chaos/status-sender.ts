import { setTimeout as delay } from 'node:timers/promises'
import type { StatusName } from '../test/support/cloud-api-webhooks.ts'
import type { PostOffice } from './webhook-sender.ts'
import type { Random } from './random.ts'
import type { Workspace } from './workspace.ts'

const TOLD: StatusName[] = ['sent', 'delivered', 'read']

/** Tells of every message that the provider took, in any order, until it is stopped and has told of all. */
export function tellStatuses(office: PostOffice, workspace: Workspace, random: Random): { stop(): Promise<void> } {
  const { cloud, habit } = workspace
  let told = 0
  let stopping = false
  const letters = new Set<Promise<void>>()
  const round = () => {
    for (const { wamid, callbackData } of cloud.accepted.slice(told)) {
      told += 1
      for (const status of random.shuffle(TOLD)) {
        const letter = office
          .deliver(() => cloud.webhooks.tell([{ wamid, status, callbackData }]))
          .finally(() => letters.delete(letter))
        letters.add(letter)
      }
    }
  }
  const done = (async () => {
    if (!habit.tells) return
    while (!stopping) {
      round()
      await delay(50)
    }
    round()
    while (letters.size > 0) await Promise.all(letters)
  })()
  return {
    stop() {
      stopping = true
      return done
    },
  }
}
