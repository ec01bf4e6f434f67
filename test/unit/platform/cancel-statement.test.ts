import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { createSecureContext, TLSSocket } from 'node:tls'
import { expect } from 'chai'
import { cancelStatement } from '../../../src/platform/database/cancel-statement.ts'

/** A certificate and its key for this test only, which no client trusts. */
const CERT = `-----BEGIN CERTIFICATE-----
MIIBfzCCASWgAwIBAgIULldPAXdn/8StGBYXNyHDM7X/VjUwCgYIKoZIzj0EAwIw
FDESMBAGA1UEAwwJbG9jYWxob3N0MCAXDTI2MTEyMjEyNTcxM1oYDzIxMjYxMDI5
MTI1NzEzWjAUMRIwEAYDVQQDDAlsb2NhbGhvc3QwWTATBgcqhkjOPQIBBggqhkjO
PQMBBwNCAARgt8o/FJkCpxUuORPQaWs4tng+75zG+Mr2Rir5MP0GoDdqP+HWNCkb
dQJvhwri8mcdGGEiHgaxeJJXAEggoi9Ko1MwUTAdBgNVHQ4EFgQUxJiLHpOvDyw5
/sJaMfU9YpzQoYAwHwYDVR0jBBgwFoAUxJiLHpOvDyw5/sJaMfU9YpzQoYAwDwYD
VR0TAQH/BAUwAwEB/zAKBggqhkjOPQQDAgNIADBFAiBIRXLfnSodrOITrdT2OuNL
7s9NXg/VCBLH+gHKR7yt+gIhAOmdIbdsAFWn4R/JF6f0kD1ENxE5OC9wOa5W8zDB
21CK
-----END CERTIFICATE-----`
const KEY = `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgfXNq4NM3/x1eH8P1
ZVnJ92ldvmd+cryoIUK0lkCFxjShRANCAARgt8o/FJkCpxUuORPQaWs4tng+75zG
+Mr2Rir5MP0GoDdqP+HWNCkbdQJvhwri8mcdGGEiHgaxeJJXAEggoi9K
-----END PRIVATE KEY-----`

const TLS_REQUEST = [8, 80_877_103]
const CANCEL_REQUEST = 80_877_102

function readNumbers(bytes: Buffer): number[] {
  return Array.from({ length: bytes.length / 4 }, (_, index) => bytes.readInt32BE(4 * index))
}

async function readBytes(socket: Socket | TLSSocket): Promise<Buffer> {
  const [bytes]: Buffer[] = await once(socket, 'data')
  return bytes ?? Buffer.alloc(0)
}

describe('cancelStatement', () => {
  /** Sends a request for a connection with these settings; returns the socket that the server accepts. */
  async function cancel(ssl: object | false): Promise<{ socket: Socket; close: () => void }> {
    const server = createServer().listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    const accepted = once(server, 'connection')
    cancelStatement({ host: '127.0.0.1', port, ssl, processID: 71, secretKey: 72 })
    const [socket] = (await accepted) as [Socket]
    return { socket, close: () => server.close() }
  }

  it('sends the key of the session unencrypted to a server without TLS', async () => {
    const { socket, close } = await cancel(false)
    expect(readNumbers(await readBytes(socket))).to.deep.equal([16, CANCEL_REQUEST, 71, 72])
    close()
  })

  it('sends the key of the session only after the connection is encrypted', async () => {
    const { socket, close } = await cancel({ rejectUnauthorized: false })
    expect(readNumbers(await readBytes(socket))).to.deep.equal(TLS_REQUEST)
    socket.write('S')
    const secureContext = createSecureContext({ cert: CERT, key: KEY })
    const encrypted = new TLSSocket(socket, { isServer: true, secureContext })
    expect(readNumbers(await readBytes(encrypted))).to.deep.equal([16, CANCEL_REQUEST, 71, 72])
    close()
  })

  it('sends no key to a server that does not encrypt, or whose certificate is not trusted', async () => {
    const refusing = await cancel({})
    await readBytes(refusing.socket)
    let received = Buffer.alloc(0)
    refusing.socket.on('data', (bytes: Buffer) => (received = Buffer.concat([received, bytes])))
    refusing.socket.end('N')
    await once(refusing.socket, 'close')
    expect(received).to.have.length(0)
    refusing.close()

    const untrusted = await cancel({})
    await readBytes(untrusted.socket)
    untrusted.socket.write('S')
    const encrypted = new TLSSocket(untrusted.socket, {
      isServer: true,
      secureContext: createSecureContext({ cert: CERT, key: KEY }),
    })
    let request = ''
    encrypted.on('data', (bytes: Buffer) => (request += bytes.toString('hex')))
    await new Promise<void>((resolve) => encrypted.once('error', () => resolve()).once('close', () => resolve()))
    expect(request).to.equal('')
    untrusted.close()
  })
})
