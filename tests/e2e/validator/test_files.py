# SPDX-License-Identifier: Apache-2.0
"""Rules about names, slices and notes can fail."""
import json
import os
import shutil

from .damage import API, NODE, PMU, RuleTest, SOC, TENSOR, TS


class Files(RuleTest):
    def test_name_of_the_directory(self):
        copy = self.damage()
        renamed = os.path.join(os.path.dirname(copy.path), "PROF_1_2_3")
        os.rename(copy.path, renamed)
        copy.path = renamed
        self.breaks(copy, "layout")

    def test_stray_file(self):
        copy = self.damage()
        copy.write("device_0/data/secret.data.0.slice_0", b"x")
        self.breaks(copy, "layout")

    def test_link(self):
        copy = self.damage()
        os.rename(copy(SOC), copy("..", "elsewhere"))
        os.symlink(copy("..", "elsewhere"), copy(SOC))
        self.breaks(copy, "path-characters")

    def test_character_in_the_path(self):
        copy = self.damage()
        folder = os.path.join(os.path.dirname(copy.path), "a;b")
        os.mkdir(folder)
        copy.path = shutil.move(copy.path, folder)
        self.breaks(copy, "path-characters")

    def test_file_without_note(self):
        copy = self.damage()
        os.remove(copy(SOC + ".done"))
        self.breaks(copy, "done")

    def test_note_with_wrong_size(self):
        copy = self.damage()
        with open(copy("host/info.json.done"), "w", encoding="utf-8") as f:
            f.write("filesize:3\n")
        self.breaks(copy, "done")

    def test_missing_slice(self):
        copy = self.damage()
        data = copy.read(SOC)
        copy.write(SOC, data[:640])
        copy.write(SOC.replace("slice_0", "slice_2"), data[640:])
        self.breaks(copy, "slice-numbers")

    def test_slices_are_read_in_the_order_of_their_numbers(self):
        copy = self.damage()
        data = copy.read(SOC)
        for i in range(11):  # slice_10 comes after slice_9, not after slice_1
            copy.write(SOC.replace("slice_0", f"slice_{i}"), data[i * 512:(i + 1) * 512 if i < 10 else None])
        self.breaks(copy)

    def test_slice_that_ends_in_the_middle_of_a_record(self):
        for name, size in ((API, 40), (NODE, 64), (TENSOR, 256), (SOC, 64), (PMU, 128), (TS, 40)):
            with self.subTest(name):
                copy = self.damage()
                copy.write(name, copy.read(name) + bytes(size - 1))
                self.breaks(copy, "slice-records")

    def test_device_file_of_another_device(self):
        copy = self.damage()
        copy.write(SOC.replace(".data.0.", ".data.1."), copy.read(SOC))
        os.remove(copy(SOC))
        os.remove(copy(SOC + ".done"))
        self.breaks(copy, "ids")
