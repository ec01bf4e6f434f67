import { expect } from 'chai'
import { NOON, TestRun, buildFacts } from '../../support/workflow.ts'
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

function chooseBranch(contactId: string | null, id: string, rest: object = {}): unknown {
  const contact = contactId === null ? null : { id: contactId, tags: [] }
  const run = new TestRun({ steps: split(rest) }, { facts: buildFacts({ contact }), id })
  return run.start().steps[0]?.branch
}

function runId(n: number): string {
  return `0199a7a0-0000-7000-8000-${String(n).padStart(12, '0')}`
}

describe('split step', () => {
  const many = Array.from({ length: 400 }, (_, index) => index)

  it('distributes contacts and runs by its weights', () => {
    for (const branches of [
      many.map((n) => chooseBranch(`c${n}`, runId(0))),
      many.map((n) => chooseBranch('c1', runId(n), { sticky: false })),
      many.map((n) => chooseBranch(null, runId(n))),
    ]) {
      const share = branches.filter((branch) => branch === 'a').length / many.length
      expect(share).to.be.within(0.65, 0.85)
      expect(new Set(branches)).to.have.keys(['a', 'path 2'])
    }
  })

  it('chooses the same path for a contact in every run and for a repeated run', () => {
    for (const n of many.slice(0, 20)) {
      expect(chooseBranch(`c${n}`, runId(1))).to.equal(chooseBranch(`c${n}`, runId(2)))
      expect(chooseBranch(null, runId(n))).to.equal(chooseBranch(null, runId(n)))
    }
  })

  it('chooses again in every iteration unless it is sticky', () => {
    const steps = [
      { id: 'w', type: 'wait', for: '1m' },
      { id: 's', type: 'split', sticky: false, paths: paths.map((path) => ({ ...path, weight: 1, next: 'w' })) },
    ]
    const run = new TestRun({ steps })
    run.start()
    const branches = Array.from(
      { length: 20 },
      () => run.fireTimer().steps.find(({ type }) => type === 'split')?.branch,
    )
    expect(new Set(branches).size).to.equal(2)
  })
})

describe('goto step', () => {
  it('continues at its target or ends the run', () => {
    const run = new TestRun({ steps: [{ id: 'g', type: 'goto', to: 'c' }, say('b', 'b'), say('c', 'c')] })
    run.start()
    expect(run.sent).to.deep.equal(['c'])
    const ended = new TestRun({ steps: [{ id: 'g', type: 'goto', to: 'end' }, say('b', 'b')] })
    ended.start()
    expect([ended.sent, ended.run.status]).to.deep.equal([[], 'completed'])
  })
})

describe('steps that emit effects', () => {
  function listEffects(steps: object[], facts = buildFacts()): unknown[] {
    const run = new TestRun({ steps }, { facts })
    return run.start().effects.map(({ effect }) => effect)
  }

  it('resolve the placeholders of their effects', () => {
    expect(
      listEffects([
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

  it('update the facts for the following steps', () => {
    const run = new TestRun({
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

  it('emit no group effect when the membership already is as requested', () => {
    const steps = [
      { id: 'a', type: 'add_to_group', groupId: GROUP },
      { id: 'b', type: 'add_to_group', groupId: GROUP.toUpperCase() },
      { id: 'c', type: 'remove_from_group', groupId: GROUP },
      { id: 'd', type: 'remove_from_group', groupId: GROUP },
    ]
    expect(listEffects(steps)).to.deep.equal([
      { type: 'add_to_group', groupId: GROUP },
      { type: 'remove_from_group', groupId: GROUP },
    ])
  })

  it('fail without their contact, conversation or a valid value', () => {
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
      const facts = buildFacts(code.startsWith('no_') ? { conversation: null, contact: null } : {})
      const run = new TestRun({ steps: [{ id: 's', ...step }] }, { facts })
      run.start()
      expect(run.run.error?.code, JSON.stringify(step)).to.equal(code)
    }
  })
})

describe('send_message step with media', () => {
  const image = { type: 'image', url: 'https://a.example/{{contact.id}}.png' }
  const send = (message: object) => {
    const run = new TestRun({ steps: [{ id: 's', type: 'send_message', message }] })
    const { effects } = run.start()
    return run.run.error?.code ?? { ...effects[0]?.effect, messageId: '' }
  }

  it('resolves URL, caption and file name', () => {
    const plain = { type: 'send_message', messageId: '', buttons: [] }
    const sent = { type: 'image', url: 'https://a.example/c1.png' }
    expect(send({ media: image })).to.deep.equal({ ...plain, body: null, media: sent })
    expect(send({ media: image, body: '{{vars.x}}' })).to.deep.equal({ ...plain, body: null, media: sent })
    expect(send({ media: image, body: 'Look' })).to.deep.equal({ ...plain, body: 'Look', media: sent })
    const named = { type: 'document', url: 'http://a.example/x', filename: ' {{contact.name}}.pdf ' }
    expect(send({ media: named })).to.deep.equal({ ...plain, body: null, media: { ...named, filename: 'Ana.pdf' } })
  })

  it('fails with invalid_media_url or message_too_long after resolving its templates', () => {
    for (const url of ['{{contact.name}}', 'ftp://{{contact.id}}', 'https://a:b@{{contact.id}}/']) {
      expect(send({ media: { type: 'video', url } }), url).to.equal('invalid_media_url')
    }
    const body = `{{contact.name}}${'x'.repeat(1024)}`
    expect(send({ media: image, body })).to.equal('message_too_long')
  })

  it('fails with outside_window after the service window has closed', () => {
    const facts = buildFacts({ conversation: { windowExpiresAt: NOON } })
    const run = new TestRun({ steps: [{ id: 's', type: 'send_message', message: { media: image } }] }, { facts })
    run.start()
    expect(run.run.error?.code).to.equal('outside_window')
  })
})
