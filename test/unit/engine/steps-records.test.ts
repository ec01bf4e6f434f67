import { expect } from 'chai'
import { NOON, PlayedRun, someFacts } from '../../support/workflow.ts'
import { say } from '../../support/steps.ts'

const GROUP = '0199a7a0-0000-7000-8000-00000000000a'
const USER = '0199a7a0-0000-7000-8000-00000000000b'

const paths = [
  { name: 'a', weight: 3, next: 'a' },
  { weight: 1, next: 'b' },
]
const split = (rest: object = {}) => [
  { id: 's', type: 'split', paths, ...rest },
  say('a', 'a', { next: 'end' }),
  say('b', 'b'),
]

function taken(contactId: string | null, id: string, rest: object = {}): unknown {
  const contact = contactId === null ? null : { id: contactId, tags: [] }
  const run = new PlayedRun({ steps: split(rest) }, { facts: someFacts({ contact }), id })
  return run.start().steps[0]?.branch
}

function runId(n: number): string {
  return `0199a7a0-0000-7000-8000-${String(n).padStart(12, '0')}`
}

describe('a split', () => {
  const many = Array.from({ length: 400 }, (_, index) => index)

  it('follows its weights, over contacts and over runs', () => {
    for (const counted of [
      many.map((n) => taken(`c${n}`, runId(0))),
      many.map((n) => taken('c1', runId(n), { sticky: false })),
      many.map((n) => taken(null, runId(n))),
    ]) {
      const share = counted.filter((branch) => branch === 'a').length / many.length
      expect(share).to.be.within(0.65, 0.85)
      expect(new Set(counted)).to.have.keys(['a', 'path 2'])
    }
  })

  it('sends a contact the same way in every run, and decides the same run alike', () => {
    for (const n of many.slice(0, 20)) {
      expect(taken(`c${n}`, runId(1))).to.equal(taken(`c${n}`, runId(2)))
      expect(taken(null, runId(n))).to.equal(taken(null, runId(n)))
    }
  })

  it('draws anew each time the run comes by, unless it is sticky', () => {
    const steps = [
      { id: 'w', type: 'wait', for: '1m' },
      { id: 's', type: 'split', sticky: false, paths: paths.map((path) => ({ ...path, weight: 1, next: 'w' })) },
    ]
    const run = new PlayedRun({ steps })
    run.start()
    const branches = Array.from({ length: 20 }, () => run.ring().steps.find(({ type }) => type === 'split')?.branch)
    expect(new Set(branches).size).to.equal(2)
  })
})

describe('a goto', () => {
  it('goes on with the step that it names, or ends the run', () => {
    const run = new PlayedRun({ steps: [{ id: 'g', type: 'goto', to: 'c' }, say('b', 'b'), say('c', 'c')] })
    run.start()
    expect(run.sent).to.deep.equal(['c'])
    const ended = new PlayedRun({ steps: [{ id: 'g', type: 'goto', to: 'end' }, say('b', 'b')] })
    ended.start()
    expect([ended.sent, ended.run.status]).to.deep.equal([[], 'completed'])
  })
})

describe('what a step wants done', () => {
  function effectsOf(steps: object[], facts = someFacts()): unknown[] {
    const run = new PlayedRun({ steps }, { facts })
    return run.start().effects.map(({ effect }) => effect)
  }

  it('is told with its placeholders filled in', () => {
    expect(
      effectsOf([
        { id: 'e', type: 'emit', event: 'order.placed', data: { who: '{{contact.name}}', tags: '{{contact.tags}}' } },
        { id: 'u', type: 'assign', to: { userId: USER } },
        { id: 'r', type: 'assign', to: { strategy: 'round_robin' } },
        { id: 'n', type: 'assign', to: { unassign: true } },
        { id: 'c', type: 'set_consent', marketing: 'opted_out' },
        { id: 'x', type: 'close_conversation' },
        { id: 'h', type: 'handoff', assign: { strategy: 'least_open' } },
      ]),
    ).to.deep.equal([
      { type: 'emit', event: 'order.placed', data: { who: 'Ana', tags: ['vip'] } },
      { type: 'assign', to: { userId: USER } },
      { type: 'assign', to: { strategy: 'round_robin' } },
      { type: 'assign', to: { userId: null } },
      { type: 'set_consent', marketing: 'opted_out' },
      { type: 'close_conversation' },
      { type: 'handoff', reason: null, until: null },
      { type: 'assign', to: { strategy: 'least_open' } },
    ])
  })

  it('is seen by the steps that follow', () => {
    const run = new PlayedRun({
      steps: [
        { id: 'u', type: 'assign', to: { userId: USER } },
        { id: 'c', type: 'set_consent', marketing: 'opted_in' },
        { id: 'g', type: 'add_to_group', groupId: GROUP },
        { id: 'x', type: 'close_conversation' },
        say('s', '{{conversation.assigneeId}} {{contact.consent.marketing}} {{conversation.status}}'),
      ],
    })
    run.start()
    expect(run.sent).to.deep.equal([`${USER} opted_in closed`])
    expect(run.facts.contact?.['groupIds']).to.deep.equal([GROUP])
  })

  it('is nothing where the contact is in the group already, or is not', () => {
    const steps = [
      { id: 'a', type: 'add_to_group', groupId: GROUP },
      { id: 'b', type: 'add_to_group', groupId: GROUP.toUpperCase() },
      { id: 'c', type: 'remove_from_group', groupId: GROUP },
      { id: 'd', type: 'remove_from_group', groupId: GROUP },
    ]
    expect(effectsOf(steps)).to.deep.equal([
      { type: 'add_to_group', groupId: GROUP },
      { type: 'remove_from_group', groupId: GROUP },
    ])
  })

  it('fails without whom it is about', () => {
    const cases: [object, string][] = [
      [{ type: 'assign', to: { unassign: true } }, 'no_conversation'],
      [{ type: 'assign', to: { userId: '{{workspace.name}}' } }, 'invalid_assignee'],
      [{ type: 'add_note', body: 'x' }, 'no_conversation'],
      [{ type: 'add_note', body: '{{vars.nothing}}' }, 'empty_message'],
      [{ type: 'close_conversation' }, 'no_conversation'],
      [{ type: 'add_to_group', groupId: GROUP }, 'no_contact'],
      [{ type: 'remove_from_group', groupId: GROUP }, 'no_contact'],
      [{ type: 'set_consent', marketing: 'opted_in' }, 'no_contact'],
    ]
    for (const [step, code] of cases) {
      const facts = someFacts(code.startsWith('no_') ? { conversation: null, contact: null } : {})
      const run = new PlayedRun({ steps: [{ id: 's', ...step }] }, { facts })
      run.start()
      expect(run.run.error?.code, JSON.stringify(step)).to.equal(code)
    }
  })
})

describe('sending a file', () => {
  const image = { type: 'image', url: 'https://a.example/{{contact.id}}.png' }
  const sending = (message: object) => {
    const run = new PlayedRun({ steps: [{ id: 's', type: 'send_message', message }] })
    const { effects } = run.start()
    return run.run.error?.code ?? { ...effects[0]?.effect, messageId: '' }
  }

  it('fills in its address and its words', () => {
    const plain = { type: 'send_message', messageId: '', buttons: [] }
    const sent = { type: 'image', url: 'https://a.example/c1.png' }
    expect(sending({ media: image })).to.deep.equal({ ...plain, body: null, media: sent })
    expect(sending({ media: image, body: '{{vars.x}}' })).to.deep.equal({ ...plain, body: null, media: sent })
    expect(sending({ media: image, body: 'Look' })).to.deep.equal({ ...plain, body: 'Look', media: sent })
    const named = { type: 'document', url: 'http://a.example/x', filename: ' {{contact.name}}.pdf ' }
    expect(sending({ media: named })).to.deep.equal({ ...plain, body: null, media: { ...named, filename: 'Ana.pdf' } })
  })

  it('fails where the address is none, or there are too many words', () => {
    for (const url of ['{{contact.name}}', 'ftp://{{contact.id}}', 'https://a:b@{{contact.id}}/']) {
      expect(sending({ media: { type: 'video', url } }), url).to.equal('invalid_media_url')
    }
    const body = `{{contact.name}}${'x'.repeat(1024)}`
    expect(sending({ media: image, body })).to.equal('message_too_long')
  })

  it('happens only within the window', () => {
    const facts = someFacts({ conversation: { windowExpiresAt: NOON } })
    const run = new PlayedRun({ steps: [{ id: 's', type: 'send_message', message: { media: image } }] }, { facts })
    run.start()
    expect(run.run.error?.code).to.equal('outside_window')
  })
})
