-- Run in a folder with config.yaml and gateway.yaml: nvim --headless -u NONE -l is newer than 0.7, so -S it is.
-- Prints what an editor shows, one JSON a line.
local command = vim.split(vim.env.VMCP_COMMAND, ' ')
local function say(what) io.stdout:write(vim.fn.json_encode(what) .. '\n') end
local function wait(condition) return vim.wait(20000, condition, 50) end

vim.cmd('edit config.yaml')
local client = vim.lsp.start_client({ name = 'vmcp', cmd = command, root_dir = vim.fn.getcwd(),
  workspace_folders = { { uri = vim.uri_from_fname(vim.fn.getcwd()), name = 'test' } } })
vim.lsp.buf_attach_client(0, client)
say({ shown = wait(function() return #vim.diagnostic.get(0) > 0 end) })
for _, each in ipairs(vim.diagnostic.get(0)) do
  say({ line = each.lnum + 1, column = each.col + 1, message = each.message })
end

-- The name of the provider that is wrong is completed from the gateway's.
vim.fn.cursor(8, 19)
vim.cmd('normal! C')
local position = { line = 7, character = 18 }
local document = { uri = vim.uri_from_bufnr(0) }
local answers = vim.lsp.buf_request_sync(0, 'textDocument/completion', { textDocument = document, position = position }, 20000)
local items = answers[client].result
say({ completion = vim.tbl_map(function(item) return item.label end, items) })
vim.lsp.util.apply_text_edits({ items[1].textEdit }, 0, 'utf-16')
say({ clean = wait(function() return #vim.diagnostic.get(0) == 0 end), text = vim.fn.getline(8) })

-- A rename changes the gateway too.
vim.fn.cursor(8, 20)
vim.lsp.buf.rename('entra')
wait(function() return vim.fn.getline(8):find('entra') ~= nil end)
say({ config = vim.fn.getline(8), gateway = vim.fn.getbufline(vim.fn.bufnr('gateway.yaml'), 17)[1] })
vim.cmd('qall!')
