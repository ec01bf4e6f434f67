import type { JobPlace } from '../../src/platform/jobs/job-queue.ts'

/** Places for sends after a commit, whose work the test does when it wants to. */
export class JobPlaces {
  readonly works: (() => Promise<void>)[] = []
  reserved = 0
  left = 0

  readonly reserve = (): JobPlace => {
    this.reserved += 1
    return { take: (work) => void this.works.push(work), leave: () => void (this.left += 1) }
  }

  async work(): Promise<void> {
    for (const work of this.works.splice(0)) await work()
  }
}
