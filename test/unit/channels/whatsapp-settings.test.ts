import { expect } from 'chai'
import {
  assertCallableBaseUrl,
  WhatsappCredentials,
  WhatsappSettings,
} from '../../../src/channels/whatsapp/settings.ts'
import { InvalidError } from '../../../src/platform/errors.ts'

const CREDENTIALS = { accessToken: 'EAAtoken', appSecret: 'app-secret', verifyToken: 'verify-token' }

describe('WhatsappSettings', () => {
  const isValid = (baseUrl: string) => WhatsappSettings.safeParse({ phoneNumberId: '1', baseUrl }).success

  it('default to the base URL and version of the Graph API', () => {
    expect(WhatsappSettings.parse({ phoneNumberId: '1065' })).to.deep.equal({
      phoneNumberId: '1065',
      wabaId: null,
      baseUrl: 'https://graph.facebook.com',
      version: 'v24.0',
    })
  })

  it('accept an https URL with a host name and http only for loopback addresses', () => {
    for (const url of ['https://gateway.example.com/meta/', 'http://localhost:1', 'http://127.1:1', 'http://[::1]:1']) {
      expect(isValid(url), url).to.equal(true)
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
      expect(isValid(url), url).to.equal(false)
    }
  })

  it('normalize the base URL and reject path characters in the phone number ID and version', () => {
    for (const baseUrl of [
      ' https://example.com/meta/ ',
      'https://example.com/meta?',
      'https://EXAMPLE.com/x/../meta#',
    ]) {
      expect(WhatsappSettings.parse({ phoneNumberId: '1', baseUrl }).baseUrl).to.equal('https://example.com/meta')
    }
    for (const settings of [
      { phoneNumberId: '1/../2' },
      { phoneNumberId: '' },
      { version: 'v24.0/..' },
      { version: '24' },
    ]) {
      expect(WhatsappSettings.safeParse({ phoneNumberId: '1', ...settings }).success).to.equal(false)
    }
  })

  it('reject a base URL on this machine, on another port or in a private network unless loopback is allowed', () => {
    for (const baseUrl of [
      'http://localhost:1',
      'https://127.0.0.1',
      'http://[::1]:1',
      'https://example.com:8443',
      'https://example.com:80',
      'https://metadata.google.internal',
      'https://printer',
    ]) {
      const settings = WhatsappSettings.parse({ phoneNumberId: '1', baseUrl })
      expect(() => assertCallableBaseUrl(settings, { allowsLoopback: false }), baseUrl).to.throw(
        InvalidError,
        'baseUrl ',
      )
      expect(() => assertCallableBaseUrl(settings, { allowsLoopback: true }), baseUrl).not.to.throw()
    }
    const settings = WhatsappSettings.parse({ phoneNumberId: '1', baseUrl: 'https://example.com:443/meta' })
    expect(() => assertCallableBaseUrl(settings, { allowsLoopback: false })).not.to.throw()
  })
})

describe('WhatsappCredentials', () => {
  it('trim surrounding whitespace and reject inner line breaks', () => {
    expect(WhatsappCredentials.parse({ ...CREDENTIALS, accessToken: ' EAAtoken\n' }).accessToken).to.equal('EAAtoken')
    expect(WhatsappCredentials.safeParse({ ...CREDENTIALS, accessToken: 'EAA\ntoken' }).success).to.equal(false)
  })

  it('do not appear in their validation error', () => {
    const { error } = WhatsappCredentials.safeParse({ accessToken: 'EAA\nhush', appSecret: '', verifyToken: 'hush' })
    expect(error?.message).to.be.a('string').and.not.include('hush')
  })
})
