import { expect } from 'chai'
import { DAY, SECOND, systemClock } from '../../../src/platform/time.ts'

describe('systemClock', () => {
  const MachineDate = Date

  afterEach(() => {
    globalThis.Date = MachineDate
  })

  for (const [direction, jumpMs] of [
    ['forward', DAY],
    ['back', -DAY],
  ] as const) {
    it(`goes on when the clock of the machine is set ${direction}`, () => {
      const before = systemClock.now().getTime()
      globalThis.Date = class extends MachineDate {
        constructor(time?: number) {
          super(time ?? MachineDate.now() + jumpMs)
        }
      } as DateConstructor
      expect(systemClock.now().getTime() - before).to.be.within(0, SECOND)
    })
  }
})
