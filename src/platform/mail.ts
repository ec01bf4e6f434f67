import { writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Transporter } from 'nodemailer'
import { createFolder } from './create-folder.ts'
import { newId } from './ids.ts'
import type { Logger } from './log.ts'
import { SECOND } from './time.ts'

export type Email = { to: { name: string; address: string }; subject: string; text: string }

export interface Mailer {
  send(email: Email): Promise<void>
}

/** A server that says nothing for so long does not work. */
const SILENCE_MAX_MS = 10 * SECOND
const SILENCE = {
  connectionTimeout: SILENCE_MAX_MS,
  greetingTimeout: SILENCE_MAX_MS,
  socketTimeout: SILENCE_MAX_MS,
}

const FROM = { name: 'Parley', address: 'no-reply@parley.invalid' }

/** Sends through an SMTP server. The recipient is an object, because a plain text would be split at commas. */
export function smtpMail(url: string): Mailer {
  let transport: Transporter | undefined
  return {
    async send(email) {
      const { createTransport } = await import('nodemailer')
      transport ??= createTransport({ url, ...SILENCE })
      await transport.sendMail({ from: FROM, ...email })
    },
  }
}

/** Writes each email to a file that only the operator's account can read, for use without an SMTP server. */
export function fileMail(directory: string, log: Logger): Mailer {
  return {
    async send(email) {
      const { createTransport } = await import('nodemailer')
      const transport = createTransport({ streamTransport: true, buffer: true })
      const { message } = await transport.sendMail({ from: FROM, ...email })
      await createFolder(dirname(directory))
      await createFolder(directory, 0o700)
      const path = join(directory, `${newId()}.eml`)
      await writeFile(path, toReadable(String(message), email.text), { mode: 0o600 })
      log.info({ path }, 'email written to a file because SMTP_URL is not set')
    },
  }
}

/** Returns the message with its text as it is: quoted-printable would break the links and tokens that people copy. */
function toReadable(message: string, text: string): string {
  const headers = message.slice(0, message.indexOf('\r\n\r\n'))
  return `${headers.replace(/^(Content-Transfer-Encoding): .*$/im, '$1: 8bit')}\r\n\r\n${text}`
}
