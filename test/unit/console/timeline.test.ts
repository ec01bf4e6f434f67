import { expect } from 'chai'
import {
  pickRows,
  toPlace,
  toRelativeSpans,
  toSegments,
  toSharedSegments,
  toSpans,
} from '../../../src/console/runs/timeline-scale.ts'

const SECOND = 1000
const HOUR = 3600 * SECOND

function step(type: string, startMs: number, endMs: number | null) {
  return { type, startedAt: new Date(startMs), finishedAt: endMs === null ? null : new Date(endMs) }
}

describe('the timeline of a run', () => {
  it('cuts a long wait to 13 % and leaves the rest linear', () => {
    const steps = [
      step('send_message', 0, 100),
      step('wait', 100, 4 * HOUR),
      step('send_message', 4 * HOUR, 4 * HOUR + 100),
    ]
    const segments = toSegments(toSpans(steps, 0))
    expect(segments.map(({ isCut }) => isCut)).to.deep.equal([false, true, false])
    expect(segments.map(({ width }) => Math.round(width * 10) / 10)).to.deep.equal([43.5, 13, 43.5])
  })

  it('gives several waits at most 45 % together', () => {
    const steps = [0, 1, 2, 3, 4].flatMap((day) => [
      step('send_message', day * 24 * HOUR, day * 24 * HOUR + SECOND),
      step('wait', day * 24 * HOUR + SECOND, (day + 1) * 24 * HOUR),
    ])
    const cut = toSegments(toSpans(steps, 0)).filter(({ isCut }) => isCut)
    expect(cut.length).to.equal(5)
    expect(cut.reduce((sum, { width }) => sum + width, 0)).to.be.closeTo(45, 0.001)
  })

  it('does not cut what another step covers, and no wait of two seconds', () => {
    const covered = [step('wait', 0, HOUR), step('http_request', 0, HOUR)]
    const short = [step('send_message', 0, 100), step('wait', 100, 2 * SECOND)]
    for (const steps of [covered, short])
      expect(toSegments(toSpans(steps, 0)).some(({ isCut }) => isCut)).to.equal(false)
  })

  it('fills the width, and places times in order from 0 to 100 %', () => {
    const steps = [step('ask', 0, 3 * HOUR), step('branch', 3 * HOUR, 3 * HOUR), step('wait', 3 * HOUR, null)]
    const segments = toSegments(toSpans(steps, 30 * HOUR))
    const places = [0, HOUR, 3 * HOUR, 10 * HOUR, 30 * HOUR, 99 * HOUR].map((at) => toPlace(segments, at))
    expect(places[0]).to.equal(0)
    expect(places.at(-1)).to.be.closeTo(100, 0.001)
    expect(places).to.deep.equal(places.toSorted((a, b) => a - b))
  })

  it('draws the marked step and the failed ones of a long run, with the number of steps between them', () => {
    const rows = Array.from({ length: 300 }, (_, index) => ({
      id: String(index),
      status: index === 250 ? 'failed' : 'completed',
    }))
    const picked = pickRows(rows, { max: 4, selected: '200' })
    expect(picked.map(({ row }) => row.id)).to.deep.equal(['0', '1', '200', '250'])
    expect(picked.map(({ skipped }) => skipped)).to.deep.equal([0, 0, 198, 49])
  })

  it('cuts the waits of two runs as one, also if one of them ends a moment later', () => {
    const spans = [0, 500].flatMap((lateMs) =>
      toSpans([step('ask', 0, 2 * HOUR + lateMs), step('send_message', 2 * HOUR + lateMs, 2 * HOUR + lateMs)], 0),
    )
    expect(toSegments(spans).length).to.equal(2)
    expect(toSharedSegments(spans)).to.deep.equal([
      { startMs: 0, endMs: 2 * HOUR + 500, left: 0, width: 100, isCut: true },
    ])
  })

  it('of a replay begins at 0 and leaves out the days between the steps that it took over and those that it executed', () => {
    const DAY = 24 * HOUR
    const original = [step('ask', DAY, DAY + HOUR), step('send_message', DAY + HOUR, DAY + HOUR + 100)]
    const replay = [
      { ...step('ask', DAY, DAY + HOUR), reusedFromId: 'a' },
      { ...step('send_message', 9 * DAY, 9 * DAY + 200), reusedFromId: null },
    ]
    const executed = original.map((each) => ({ ...each, reusedFromId: null }))
    const times = [executed, replay].map((steps) =>
      toRelativeSpans(steps, 0).map(({ startMs, endMs }) => [startMs, endMs]),
    )
    expect(times[0]).to.deep.equal([
      [0, HOUR],
      [HOUR, HOUR + 100],
    ])
    expect(times[1]).to.deep.equal([
      [0, HOUR],
      [HOUR, HOUR + 200],
    ])
    expect(toRelativeSpans([], 0)).to.deep.equal([])
  })
})
