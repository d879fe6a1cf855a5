# fish completion for h5mount and fsck.h5. The options are those that --help names, so they follow the program.

function __h5mount_options
    set -l program (commandline -opc)[1]
    command $program --help 2>/dev/null | string match -ra -- '(?<![\w.-])--?[A-Za-z][\w-]*' | sort -u
end

function __h5mount_mount_options
    set -l word (commandline -ct)
    set -l kept (string match -r '^.*,' -- $word)
    command h5mount --help 2>/dev/null | sed -n '/^Options after -o/,/^$/p' | sed 1d | tr , '\n' | sed -n 's/^ *\([a-z_0-9]\{1,\}=\{0,1\}\).*/\1/p' | while read -l name
        echo "$kept$name"
    end
end

for program in h5mount fsck.h5
    complete -c $program -n 'string match -q -- "-*" (commandline -ct)' -f -a '(__h5mount_options)'
end
complete -c h5mount -n 'test (commandline -opc)[-1] = -o' -f -a '(__h5mount_mount_options)'
