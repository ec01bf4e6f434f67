import { expect } from 'chai'
import { Admission } from '../../../src/http/load/admission.ts'
import { createLogger } from '../../../src/platform/log.ts'

describe('Admission', () => {
  let lines: Record<string, unknown>[]
  let admission: Admission

  beforeEach(() => {
    lines = []
    const write = (line: string) => lines.push(JSON.parse(line) as Record<string, unknown>)
    admission = new Admission(createLogger('warn', { write }))
  })

  const user = { key: 'user', max: 1 }

  it('names the share that has no further slot until one of it is freed', () => {
    const release = admission.take('uploads', '192.0.2.1', [user])
    expect(admission.take('uploads', '192.0.2.1', [user])).to.equal(user)
    expect(admission.take('subscriptions', '192.0.2.1', [user])).to.be.a('function')
    if (typeof release === 'function') release()
    expect(admission.take('uploads', '192.0.2.1', [user])).to.be.a('function')
  })

  it('logs the network of the first client that it rejects and no line for each of the next ones', () => {
    admission.take('uploads', '192.0.2.1', [user])
    for (let call = 0; call < 3; call += 1) admission.take('uploads', '192.0.2.1', [user])
    admission.reject('loopLag')
    expect(lines.map(({ bound, network, rejected }) => ({ bound, network, rejected }))).to.deep.equal([
      { bound: 'uploads', network: '192.0.2.0/24', rejected: 1 },
      { bound: 'loopLag', network: undefined, rejected: 1 },
    ])
  })
})
