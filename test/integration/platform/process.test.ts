import { expect } from 'chai'
import { Checkout } from '../../support/checkout.ts'

const MAIN = ['--import', 'tsx', 'src/main.ts']

describe('a process of Parley', () => {
  let checkout: Checkout

  afterEach(() => checkout.remove())

  it('starts from a folder whose name contains a space, an accent and a number sign', async () => {
    checkout = new Checkout('Café de São # 1')
    const { child, ended } = await checkout.serve('node', MAIN)
    child.kill('SIGTERM')
    expect((await ended).code).to.equal(0)
  })
})
