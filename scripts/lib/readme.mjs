// The code that README shows, so that it can be run as a reader would.

/**
 * The code block after an HTML comment `<!-- quickstart:NAME -->`.
 * @param {string} markdown
 * @param {string} name
 * @returns {string | undefined} undefined when there is no such comment with a block right after it
 */
export function quickstart(markdown, name) {
  const block = new RegExp(
    `<!--\\s*quickstart:${name}\\s*-->\\s*\\n(\`{3,})[^\\n]*\\n([\\s\\S]*?)\\n\\1[ \\t]*(?:\\n|$)`,
  ).exec(markdown);
  return block === null ? undefined : `${block[2]}\n`;
}
