import { mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { createTransport } from 'nodemailer'
import { newId } from './ids.ts'
import type { Logger } from './log.ts'

export type Email = { to: { name: string; address: string }; subject: string; text: string }

export interface Mailer {
  send(letter: Email): Promise<void>
}

const FROM = { name: 'Parley', address: 'no-reply@parley.invalid' }

/** The recipient is an object on purpose: a plain string would be split at commas. */
export function smtpMail(url: string): Mailer {
  const transport = createTransport(url)
  return {
    async send(letter) {
      await transport.sendMail({ from: FROM, ...letter })
    },
  }
}

/** Without SMTP a letter becomes a file that the operator, and nobody else on the machine, can read. */
export function fileMail(directory: string, log: Logger): Mailer {
  const transport = createTransport({ streamTransport: true, buffer: true })
  return {
    async send(letter) {
      const { message } = await transport.sendMail({ from: FROM, ...letter })
      await mkdir(dirname(directory), { recursive: true })
      await mkdir(directory, { recursive: true, mode: 0o700 })
      const path = join(directory, `${newId()}.eml`)
      await writeFile(path, message as Buffer, { mode: 0o600 })
      log.info({ path }, 'mail written to a file because SMTP_URL is not set')
    },
  }
}
