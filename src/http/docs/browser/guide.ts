import { createCopyButton } from './elements.ts'
import { foldMenus } from './menus.ts'

/** Returns the commands of a session at a shell, and any other block as it is. */
function listCommands(block: HTMLElement): string {
  const text = block.textContent
  if (block.dataset['language'] !== 'console') return text
  return [...text.matchAll(/^\$ ((?:.*\\\n)*.*)/gm)].map(([, command]) => command).join('\n')
}

foldMenus()
for (const block of document.querySelectorAll<HTMLPreElement>('main pre')) {
  const frame = document.createElement('div')
  frame.className = 'code'
  block.replaceWith(frame)
  frame.append(
    block,
    createCopyButton(() => listCommands(block)),
  )
}
