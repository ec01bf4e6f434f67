import { expect } from 'chai'
import { openChannel } from '../../../src/channels/index.ts'
import { WhatsappCredentials, WhatsappSettings } from '../../../src/channels/whatsapp/settings.ts'
import { InvalidError } from '../../../src/platform/errors.ts'

const CREDENTIALS = { accessToken: 'EAAtoken', appSecret: 'app-secret', verifyToken: 'verify-token' }

describe('whatsapp settings', () => {
  const isTaken = (baseUrl: string) => WhatsappSettings.safeParse({ phoneNumberId: '1', baseUrl }).success

  it('call the Graph API unless they say otherwise', () => {
    expect(WhatsappSettings.parse({ phoneNumberId: '1065' })).to.deep.equal({
      phoneNumberId: '1065',
      wabaId: null,
      baseUrl: 'https://graph.facebook.com',
      version: 'v24.0',
    })
  })

  it('take https by name, and http only to this machine', () => {
    for (const url of ['https://gateway.example.com/meta/', 'http://localhost:1', 'http://127.1:1', 'http://[::1]:1']) {
      expect(isTaken(url), url).to.equal(true)
    }
    for (const url of [
      'http://graph.facebook.com',
      'http://10.0.0.8',
      'https://10.0.0.8',
      'https://169.254.169.254',
      'https://0x7f000002',
      'https://[fd00::1]',
      'https://[::ffff:10.0.0.8]',
      'http://127.0.0.1.example.com',
      'http://localhost@10.0.0.8',
      'https://user:secret@example.com',
      'https://example.com?to=',
      'https://example.com#x',
      'file:///etc/passwd',
      'ftp://example.com',
      'example.com',
      '',
    ]) {
      expect(isTaken(url), url).to.equal(false)
    }
  })

  it('do not reach into the path of the call', () => {
    for (const baseUrl of [
      ' https://example.com/meta/ ',
      'https://example.com/meta?',
      'https://EXAMPLE.com/x/../meta#',
    ]) {
      expect(WhatsappSettings.parse({ phoneNumberId: '1', baseUrl }).baseUrl).to.equal('https://example.com/meta')
    }
    for (const wrong of [
      { phoneNumberId: '1/../2' },
      { phoneNumberId: '' },
      { version: 'v24.0/..' },
      { version: '24' },
    ]) {
      expect(WhatsappSettings.safeParse({ phoneNumberId: '1', ...wrong }).success).to.equal(false)
    }
  })

  it('point to this machine only where the installation allows it', () => {
    for (const baseUrl of ['http://localhost:1', 'https://127.0.0.1', 'http://[::1]:1']) {
      const settings = { phoneNumberId: '1', baseUrl }
      expect(() => openChannel('whatsapp', settings, CREDENTIALS)).to.throw(InvalidError, 'baseUrl must not be')
      expect(() => openChannel('whatsapp', settings, CREDENTIALS, { allowLoopback: true })).not.to.throw()
    }
  })
})

describe('whatsapp credentials', () => {
  it('lose the line break they were copied with, and have none inside', () => {
    expect(WhatsappCredentials.parse({ ...CREDENTIALS, accessToken: ' EAAtoken\n' }).accessToken).to.equal('EAAtoken')
    expect(WhatsappCredentials.safeParse({ ...CREDENTIALS, accessToken: 'EAA\ntoken' }).success).to.equal(false)
  })

  it('are not quoted when they are refused', () => {
    const { error } = WhatsappCredentials.safeParse({ accessToken: 'EAA\nhush', appSecret: '', verifyToken: 'hush' })
    expect(error?.message).to.be.a('string').and.not.include('hush')
  })
})
